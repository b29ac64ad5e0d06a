"""One form of each example in bytes, so that data can be hashed."""

from dataclasses import replace

from dialoscope.core.records import Example


def canonical_bytes(example: Example) -> bytes:
    """Return the example as bytes: equal for equal examples, different for different ones, in every version.

    These are the number of turns in the context and the length of each text, then a colon and the texts.
    Before them are, where the reply is one of a group, the length of the group's name, and the name; the
    same of its dialogue, unless the id begins with that; and the positions of the turns by the speaker of the
    reply, where speakers do not alternate.
    """
    texts = (example.id, example.system, example.response, *example.context, *example.references)
    lengths = " ".join(map(str, map(len, texts)))
    # Example does not forbid lone surrogates, and they must not stop the hashing.
    group = f"g{len(example.group)}:{example.group}" if example.group else ""
    is_in_id = not example.dialogue or example.id.startswith(f"{example.dialogue}#")
    dialogue = "" if is_in_id else f"d{len(example.dialogue)}:{example.dialogue}"
    own = ""
    if example.speakers and example.own_turns != replace(example, speakers=()).own_turns:
        own = f"o{','.join(map(str, example.own_turns))}:"
    return f"{group}{dialogue}{own}{len(example.context)} {lengths}:{''.join(texts)}".encode(
        "utf-8", "surrogatepass"
    )
