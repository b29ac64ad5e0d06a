"""Many questions to a system: several at once, with a bound, each answer handed on when it comes."""

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
    told: Callable[[Question, str | NoAnswer], None],
) -> None:
    """Put all questions; `told` hears every answer, in whichever thread it came."""
    bound = min(workers or system.usual_workers, system.most_workers or _MOST_WORKERS, len(questions))
    size = max(1, min(system.at_once, -(-len(questions) // max(bound, 1))))
    batches = [questions[place : place + size] for place in range(0, len(questions), size)]
    with ExitStack() as stack:
        sessions = [stack.enter_context(system.opened()) for _ in range(min(bound, len(batches)))]
        work = _Work(iter(batches), told)
        stack.callback(work.stop.set)  # before the sessions are closed
        for session in sessions:
            Thread(target=work.done_by, args=(session,), daemon=True).start()
        for _ in sessions:
            failed = work.ended.get()
            if failed is not None:
                raise failed


class _Work:
    """What is left to ask, shared by all workers."""

    def __init__(
        self, batches: Iterator[Sequence[Question]], told: Callable[[Question, str | NoAnswer], None]
    ) -> None:
        self._batches = iter(batches)
        self._told = told
        self.stop = Event()
        self.ended: Queue[BaseException | None] = Queue()

    def done_by(self, session: Session) -> None:
        """Ask until nothing is left; daemons do, so that a hanging system keeps nobody from leaving."""
        try:
            for batch in self._batches:  # the iterator of a list is safe to share
                for question, answer in zip(batch, session.answers(batch), strict=True):
                    if self.stop.is_set():  # a session that was closed says so for every question
                        return
                    self._told(question, answer)
        except BaseException as failed:
            self.ended.put(failed)
        else:
            self.ended.put(None)
