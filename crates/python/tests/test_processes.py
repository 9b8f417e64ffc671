"""Threads, processes and interrupts."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from burnformer import Translator

TEXT = "Der Mann liest jeden Tag ein Buch."


def of_child(translator: Translator, text: str) -> str:
    return translator.translate(text).text


@pytest.mark.parametrize("kind", ["fork", "spawn", "forkserver"])
def test_processes_translate_whatever_started_them(translator, kind):
    # The parent's threads run already: a forked process has none of them.
    expected = translator.translate([TEXT] * 64)
    context = multiprocessing.get_context(kind)
    with context.Pool(4) as pool:
        work = pool.starmap_async(of_child, [(translator, TEXT)] * 8)
        assert work.get(timeout=120) == [expected[0].text] * 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_of_a_child_translates_and_the_parent_goes_on(translator):
    expected = of_child(translator, TEXT)
    child = os.fork()
    if child == 0:
        grandchild = os.fork()
        good = [found.text for found in translator.translate([TEXT] * 64)] == [expected] * 64
        if grandchild == 0:
            os._exit(0 if good else 1)
        status = os.waitpid(grandchild, 0)[1]
        os._exit(0 if good and status == 0 else 1)
    deadline = time.monotonic() + 60
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            pytest.fail("the forked process hangs")
        time.sleep(0.02)
    assert ended[1] == 0
    assert of_child(translator, TEXT) == expected


def test_many_threads_share_a_translator_and_others_go_on(translator, sentences):
    sentences = sentences[:200]
    expected = translator.translate(sentences)
    found: dict[int, list] = {}
    threads = [
        threading.Thread(target=lambda place=place: found.update({place: translator.translate(sentences)}))
        for place in range(8)
    ]
    for thread in threads:
        thread.start()
    turns = 0
    while any(thread.is_alive() for thread in threads):
        turns += 1
        time.sleep(0.005)
    assert turns > 3, "Python's lock was held while the threads computed"
    assert all(found[place] == expected for place in range(8))


def test_hundreds_of_threads_wait_for_their_turn(translator):
    expected = of_child(translator, TEXT)
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(of_child(translator, TEXT))) for _ in range(300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 300


INTERRUPTED = """
import signal, sys
from burnformer import Translator
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
translator = Translator("de-en")
texts = ["Der Mann liest ein Buch, und die Frau kauft jeden Tag ein Auto. " * 8] * 100_000
work = {
    "translate": lambda: translator.translate(texts),
    "iterable": lambda: list(translator.translate_iterable(texts, chunk=50_000)),
    "document": lambda: translator.translate_document("\\n\\n".join(texts)),
    "score": lambda: translator.score(texts, texts),
}[sys.argv[1]]
print("begun", flush=True)
try:
    work()
except KeyboardInterrupt:
    # The translator is still good, and not behind what was interrupted.
    print(translator.translate("Wo ist der Bahnhof?").text, flush=True)
"""


@pytest.mark.parametrize("work", ["translate", "iterable", "document", "score"])
def test_an_interrupt_ends_the_work_within_a_second(work):
    command = [sys.executable, "-c", INTERRUPTED, work]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout and child.stdout.readline() == "begun\n"
        time.sleep(1.5)
        asked = time.monotonic()
        child.send_signal(signal.SIGINT)
        limit = threading.Timer(60, child.kill)
        limit.start()
        answer = child.stdout.readline()
        limit.cancel()
        took = time.monotonic() - asked
        child.kill()
        assert answer == "Where is the station?\n", child.stderr and child.stderr.read()
        assert took < 1.0, f"{took:.2f} s"
