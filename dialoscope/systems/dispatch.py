"""Asking a system many questions, with a bounded number at once."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from queue import Queue
from threading import Event, Thread

from dialoscope.systems.protocol import NoAnswer, Question, Session, System

_MOST_WORKERS = 256


def ask(
    system: System,
    questions: Sequence[Question],
    workers: int | None,
    on_answer: Callable[[Question, str | NoAnswer], None],
) -> None:
    """Ask all questions; `on_answer` is called with every answer, in the thread that got it."""
    limit = min(workers or system.usual_workers, system.most_workers or _MOST_WORKERS, len(questions))
    size = max(1, min(system.at_once, -(-len(questions) // max(limit, 1))))
    batches = [questions[begin : begin + size] for begin in range(0, len(questions), size)]
    with ExitStack() as stack:
        sessions = [stack.enter_context(system.opened()) for _ in range(min(limit, len(batches)))]
        work = _Work(iter(batches), on_answer)
        stack.callback(work.stop.set)  # before the sessions are closed
        for session in sessions:
            Thread(target=work.run, args=(session,), daemon=True).start()
        for _ in sessions:
            failed = work.ended.get()
            if failed is not None:
                raise failed


class _Work:
    """The batches that are left to ask, shared by all workers."""

    def __init__(
        self, batches: Iterator[Sequence[Question]], on_answer: Callable[[Question, str | NoAnswer], None]
    ) -> None:
        self._batches = iter(batches)
        self._on_answer = on_answer
        self.stop = Event()
        self.ended: Queue[BaseException | None] = Queue()

    def run(self, session: Session) -> None:
        """Ask until nothing is left; in a daemon thread, so that a hanging system does not block the exit."""
        try:
            for batch in self._batches:  # the iterator of a list is safe to share
                for question, answer in zip(batch, session.answers(batch), strict=True):
                    if self.stop.is_set():  # a closed session fails every question
                        return
                    self._on_answer(question, answer)
        except BaseException as failed:
            self.ended.put(failed)
        else:
            self.ended.put(None)
