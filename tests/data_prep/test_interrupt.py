"""Signals ask long work to stop; it stops between steps."""

import os
import signal
import threading

import pytest

from data_prep.interrupt import STOP_SIGNALS, Checkpointed, stop_flag


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_a_signal_is_heeded_at_the_next_check(number):
    with stop_flag() as stop:
        stop.check("nothing yet")
        os.kill(os.getpid(), number)
        assert stop.asked
        with pytest.raises(Checkpointed, match=r"3 of 9 are on disk; run the same command again"):
            stop.check("3 of 9 are on disk")


def test_the_handlers_of_before_come_back():
    before = [signal.getsignal(number) for number in STOP_SIGNALS]
    with stop_flag():
        assert [signal.getsignal(number) for number in STOP_SIGNALS] != before
    assert [signal.getsignal(number) for number in STOP_SIGNALS] == before
    with pytest.raises(RuntimeError), stop_flag():
        raise RuntimeError
    assert [signal.getsignal(number) for number in STOP_SIGNALS] == before


def test_a_stop_between_two_inner_blocks_reaches_the_second():
    with stop_flag() as outer:
        with stop_flag() as first:
            assert not first.asked
        os.kill(os.getpid(), signal.SIGTERM)
        with stop_flag() as second, pytest.raises(Checkpointed):
            second.check("one of two stages is done")
        assert outer.asked
    with stop_flag() as later:
        assert not later.asked


def test_a_thread_gets_a_flag_that_no_signal_sets():
    asked = []

    def work():
        with stop_flag() as stop:
            stop.check("")
            asked.append(stop.asked)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert asked == [False]
