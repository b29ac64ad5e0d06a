"""Write treebank_tokens.json: tokens by NLTKWordTokenizer, of each text as it is and lower-cased."""

from pathlib import Path

from _shared import load_texts, origin, write
from nltk.tokenize.destructive import NLTKWordTokenizer

SENTENCES = [
    '"Where is the ladder?" he asked.',
    'He said "no", then "yes".',
    "He wrote ''stop'' on the wall and ``go'' on the door.",
    '("Inside," she said) and ["out"] {"here"} <"there">',
    "It was `odd' and ``very odd''.",
    "« Bonjour », dit-elle, «encore» et »nochmal«.",
    "“Double” and ‘single’ and „low” quotes, it’s fine.",
    "She called it 'a small thing' and 'tis true that 'twas small.",
    "'Tis late. 'Twas early. ’Tis odd.",
    "I cannot go. Cannot you? CANNOT! scannot cannots",
    "I'm gonna leave, you gotta see it, Gonna.",
    "Do you wanna come? I wanna. Wanna!",
    "wanna",
    "Gimme that and lemme see it, GIMME.",
    "D'ye know him? d'ye",
    "That is more'n enough, whaddya think, whatcha doing?",
    "They'll go, we've gone, you're here, he'd stay, I'm off, it's done, she didn't.",
    "THEY'LL GO, WE'VE GONE, YOU'RE HERE, HE'D STAY, I'M OFF, IT'S DONE, SHE DIDN'T.",
    "Don't, won't, can't, ain't, shan't, n't.",
    "the boys' shoes and the dogs' beds and James's hat",
    "rock 'n' roll, fish 'n chips, the '90s, 'em, 'cause",
    "'re 've 'll 'm 't 's 'd 'n at the start",
    "O'Neill's d'Artagnan l'heure aujourd'hui",
    "Wait... what?.. no.... yes…",
    "...and so on...",
    "..",
    ".",
    "The price rose 5.5% to $3.20, i.e. by $.17 (or 17¢).",
    "100% of it & more & so on: A&B, R&D.",
    "mail me@example.org or #tag @someone; now",
    "It costs 1,000,000 or 1,5 or 1, 5 or ,5 or 5,",
    "at 10:30, ratio 3:4, note: this, end:",
    "comma at the end,",
    "colon at the end:",
    "one--two -- three---four - five",
    "an en–dash, an em—dash, a figure‒dash, a bar―here",
    "Dr. Aune met Mr. and Mrs. Lind at 5 p.m. in the U.S.A.",
    "We live in St. Olav's St. near the sea. It is cold.",
    'He ended with "a quote."',
    "He ended with 'a quote.'",
    "He ended with (a bracket.)",
    "He ended with “a quote.”",
    "He ended with »a quote.«",
    'It ended. "',
    "It ended.') ",
    "It ended.   ",
    "It ended.\n",
    "First line.\nSecond line.\n",
    "Really?! No!! Yes?",
    "a*b*c ** d_e ~f ^g |h \\i /j",
    "[one] (two) {three} <four>",
    "((nested (brackets)))",
    "He said: (see p. 4).",
    "x=y+z; a<b>c",
    "Smile :) or :-( or ;-) today",
    "http://example.org/a?b=c&d=e#f",
    "3'4\" tall and 5''",
    "the 'quoted' word's 'other",
    "word' word'' 'word ''word",
    "\ttabs\tand\u00a0hard\u00a0spaces ",
    "“It’s 5 o’clock,” she said, ‘isn’t it?’",
    "I said 'stop', he said 'go'.",
    "İstanbul'da IŞIK ılık ß ẞ \u212a",
    "你好,世界。“很好”——他说……",
    "क्या यह ठीक है? हाँ, ठीक है।",
    "",
    " ",
]


def cases():
    """Every text of texts.json once, then the sentences above."""
    texts = [text for t in load_texts() for text in (*t["context"], t["response"], *t["references"])]
    tokenizer = NLTKWordTokenizer()
    for text in dict.fromkeys([*texts, *SENTENCES]):
        yield {
            "text": text,
            "tokens": tokenizer.tokenize(text),
            "lower_tokens": tokenizer.tokenize(text.lower()),
        }


if __name__ == "__main__":
    write("treebank_tokens.json", {"origin": origin("nltk", Path(__file__).name), "cases": list(cases())})
