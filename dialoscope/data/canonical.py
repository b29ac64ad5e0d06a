"""One byte form for each example, so that data can be hashed."""

from dataclasses import replace

from dialoscope.core.records import Example


def canonical(example: Example) -> bytes:
    """The example as bytes: equal for equal examples, different for different ones, in every version.

    The number of turns in the context and the length of each text, then a colon and the texts themselves;
    before all this, where the reply is one of a group, the length of the group's name, and the name; the
    same of its dialogue, where the id does not begin with that; and which turns are by the speaker of the
    reply, where speakers do not alternate.
    """
    texts = (example.id, example.system, example.response, *example.context, *example.references)
    lengths = " ".join(map(str, map(len, texts)))
    # Example does not forbid lone surrogates; hashing is no place to find out.
    group = f"g{len(example.group)}:{example.group}" if example.group else ""
    told = not example.dialogue or example.id.startswith(f"{example.dialogue}#")
    dialogue = "" if told else f"d{len(example.dialogue)}:{example.dialogue}"
    own = ""
    if example.speakers and example.own_turns != replace(example, speakers=()).own_turns:
        own = f"o{','.join(map(str, example.own_turns))}:"
    return f"{group}{dialogue}{own}{len(example.context)} {lengths}:{''.join(texts)}".encode(
        "utf-8", "surrogatepass"
    )
