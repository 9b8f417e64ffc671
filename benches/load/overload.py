#!/usr/bin/env python3
"""Sends more requests than a server can answer, and counts what becomes of them.

    burnformer serve --listen 127.0.0.1:5090 --max-waiting 64 --cache 0 &
    python benches/load/overload.py http://127.0.0.1:5090 test.de --requests 10000 --clients 256 --process $!

Each request is one sentence of the file. Exit code 0 if every one was answered by 200 with a translation, or by 503 with
Retry-After. With --stop-after N the process gets SIGTERM after N answers: then every request that it had accepted must
still be answered, and connections that come later are refused.
"""
import argparse
import collections
import http.client
import json
import os
import signal
import threading
import urllib.parse

parser = argparse.ArgumentParser()
parser.add_argument("url")
parser.add_argument("text")
parser.add_argument("--requests", type=int, default=10_000)
parser.add_argument("--clients", type=int, default=256)
parser.add_argument("--process", type=int, help="the server's process, whose memory is read")
parser.add_argument("--stop-after", type=int)
parser.add_argument("--source", default="de")
parser.add_argument("--target", default="en")
args = parser.parse_args()

host = urllib.parse.urlparse(args.url).netloc
lines = [line.strip() for line in open(args.text, encoding="utf-8") if line.strip()]
outcomes, memory = collections.Counter(), []
lock, numbers = threading.Lock(), iter(range(args.requests))
stopped = threading.Event()


def resident():
    for line in open(f"/proc/{args.process}/status"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def outcome(number):
    """The outcome of a request; anything but the first three is a defect."""
    connection = http.client.HTTPConnection(host, timeout=300)
    try:
        connection.connect()
    except OSError as error:
        return "refused after the stop" if stopped.is_set() else f"no connection: {error}"
    try:
        body = json.dumps({"q": lines[number % len(lines)], "source": args.source, "target": args.target})
        try:
            connection.request("POST", "/translate", body, {"content-type": "application/json"})
            answer = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            # The kernel completes connections that the stopped server never accepts.
            return "not accepted after the stop" if stopped.is_set() else f"lost: {error!r}"
        text = json.loads(answer.read())
        if answer.status == 200:
            return "200" if text["translatedText"] else "200 without a translation"
        if answer.status == 503:
            return "503" if answer.headers["retry-after"] else "503 without Retry-After"
        return str(answer.status)
    finally:
        connection.close()


def client():
    while True:
        with lock:
            number = next(numbers, None)
        if number is None:
            return
        found = outcome(number)
        with lock:
            outcomes[found] += 1
            answered = sum(outcomes.values())
            if args.process and not stopped.is_set() and answered % (args.requests // 20) == 0:
                memory.append(resident())
            if args.stop_after == answered:
                stopped.set()
                os.kill(args.process, signal.SIGTERM)


clients = [threading.Thread(target=client) for _ in range(args.clients)]
[thread.start() for thread in clients]
[thread.join() for thread in clients]
print(dict(outcomes))
if memory:
    print("resident MB in twenty steps:", " ".join(f"{m:.0f}" for m in memory))
fine = {"200", "503"} | ({"refused after the stop", "not accepted after the stop"} if args.stop_after else set())
raise SystemExit(0 if set(outcomes) <= fine else 1)
