"""English words that a paraphrase does not replace, or only as a last resort."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PRONOUNS = _words(
    "i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself "
    "she her hers herself it its itself they them their theirs themselves one ones oneself this that "
    "these those who whom whose which what whatever whichever whoever each other another some any none "
    "all both either neither somebody someone something anybody anyone anything everybody everyone "
    "everything nobody nothing thing things stuff y'all ya"
)
_DETERMINERS = _words(
    "a an the no every few fewer fewest little less least many much more most several such own same "
    "enough half lot lots bit couple kind kinds sort sorts plenty dozen"
)
_PREPOSITIONS = _words(
    "about above across after against along alongside amid among around as at before behind below beneath "
    "beside besides between beyond by concerning considering despite down during except for from in "
    "inside into like minus near of off on onto opposite out outside over past per plus regarding round "
    "since than through throughout till to toward towards under underneath unlike until unto up upon "
    "versus via with within without and but or nor so yet because although though while whereas whether "
    "if unless once lest that when whenever where wherever how however why therefore thus hence otherwise "
    "instead else according due owing including following given based depending supposed"
)
_VERBS = _words(
    "be am is are was were been being have has had having do does did done doing can could may might must "
    "shall should will would ought dare cannot let lets gonna wanna gotta gotcha lemme gimme ai ca wo sha "
    "thank please excuse pardon"
)
_ADVERBS = _words(
    "not never ever no yes n't nt there here then now again already also always too very quite rather "
    "pretty almost just only even still soon later ago away back apart aside ahead forth together alone "
    "maybe perhaps indeed anyway anyhow somehow somewhat sometime sometimes somewhere anywhere everywhere "
    "nowhere today tonight tomorrow yesterday once twice first second third last next well as so ok okay "
    "right left sure alike altogether further furthermore moreover nevertheless nonetheless meanwhile "
    "afterwards beforehand upstairs downstairs abroad home online"
)
_CALLS = _words(
    "hello hi hey bye goodbye farewell welcome thanks sorry cheers congratulations yeah yep yup nope nah "
    "oh ah uh um umm hmm huh wow ouch oops alas gosh god goodness damn heck bravo amen sir madam ma'am mr "
    "mrs ms miss mister dr dad daddy mom mum mommy mummy buddy dear darling honey sweetheart dude guys "
    "folks ladies gentlemen"
)
_NUMBERS = _words(
    "zero two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand "
    "million billion dollar dollars cent cents pound pounds euro euros percent o'clock clock am pm monday "
    "tuesday wednesday thursday friday saturday sunday january february march april may june july august "
    "september october november december"
)

KEPT = _PRONOUNS | _DETERMINERS | _PREPOSITIONS | _VERBS | _ADVERBS | _CALLS | _NUMBERS
"""Function words, auxiliaries, particles, greetings and forms of address, numbers: never replaced."""

RUDE = _words(
    "arse ass bastard bitch bum butt cock coon crap cripple damn damned dame darned darky dick fag fagged "
    "fuck gook goddam goddamned idiot jap kike moron negro piss prick queer screw shit slut spic tart tit "
    "whore wog"
)
"""Words that WordNet lists as synonyms of harmless ones, and that nobody wants to find in a paraphrase."""

LIGHT = _words("go get take make give see tell say mean call hold keep look know work time way day good")
"""Base forms of words with so many meanings that counts say little about the one that is meant."""

BEFORE_TO = _words("go use need suppose ought get")
"""Base forms of verbs that are half an auxiliary before *to*, and take no synonym there."""
