"""Tunes tables of known times with Optuna's TPE, for bench.cc.

Usage: tune_optuna.py FILE. FILE holds, for each command, the levels of its factors, the legal
candidates with their true seconds, how many runs there are, and the noise. A line is printed for
each command: the index of the candidate with the least time seen.
"""

import json
import math
import random
import sys

import optuna


THREADS = 1  # the factor's place


def legal(command, times, places):
    """Returns the candidate at these places, with fewer threads where there would be too many."""
    while True:
        levels = tuple(factor["order"][place]
                       for factor, place in zip(command["factors"], places))
        if levels in times:
            return times[levels]
        places[THREADS] -= 1


def tune(command, seed):
    """Returns the index of the best candidate found."""
    times = {tuple(candidate["levels"]): (index, candidate["seconds"])
             for index, candidate in enumerate(command["candidates"])}
    noise = random.Random(seed)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    first = {f"f{i}": factor["order"].index(0) for i, factor in enumerate(command["factors"])}
    study.enqueue_trial(first)  # the command as started
    best = (math.inf, 0)
    for _ in range(command["runs"]):
        trial = study.ask()
        places = []
        for i, factor in enumerate(command["factors"]):
            last = len(factor["order"]) - 1
            if factor["ordered"]:
                places.append(trial.suggest_int(f"f{i}", 0, last))
            else:
                places.append(trial.suggest_categorical(f"f{i}", list(range(last + 1))))
        found = legal(command, times, places)
        seconds = found[1] * math.exp(command["noise"] * noise.gauss(0, 1))
        study.tell(trial, seconds)
        best = min(best, (seconds, found[0]))
    return best[1]


def main():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with open(sys.argv[1], encoding="utf-8") as file:
        for seed, line in enumerate(file):
            print(tune(json.loads(line), seed), flush=True)


main()
