"""tabane mine: what it finds, encrypted or not, on threads, teams and ranks; roles apart; and what
it refuses."""

import csv
import itertools
import json
import os
import pathlib
import shutil
import signal
import stat
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests/lib"))
import tool_case
from tool_case import children, mpirun

# A small ring is quick; it is marked as insecure.
QUICK = ("--ring-degree", "1024", "--insecure-parameters")


def by_trying_all(transactions, least, longest):
    """{itemset: support}, by brute force."""
    items = sorted(set().union(*transactions))
    found = {}
    for length in range(1, longest + 1):
        for itemset in itertools.combinations(items, length):
            support = sum(1 for one in transactions if one.issuperset(itemset))
            if support >= least:
                found[itemset] = support
    return found


def itemsets_of(told):
    return {tuple(one["items"]): one["support"] for one in told["itemsets"]}


class Case(tool_case.Case):
    tool = "mine"

    def setUp(self):
        super().setUp()
        self.shop = self.folder / "shop.dat"

    def generate(self, *arguments):
        self.run_tool("generate", *arguments, self.shop, code=0)

    def transactions(self):
        return [set(map(int, line.split())) for line in self.shop.read_text().splitlines()]


class Results(Case):
    def test_are_those_of_trying_all(self):
        self.generate("--transactions", 300, "--items", 12, "--mean-transaction", 5, "--patterns",
                      8)
        expected = by_trying_all(self.transactions(), 30, 3)
        self.assertGreater(max(map(len, expected)), 1)
        for way in (("--plain",), QUICK):
            told = self.told(self.shop, "--min-support", 0.1, *way)
            self.assertEqual(expected, itemsets_of(told))
            self.assertEqual((300, 30), (told["transactions"], told["least_support"]))

    def test_are_the_same_wherever_they_are_counted(self):
        self.generate("--transactions", 2500, "--items", 16, "--mean-transaction", 5)
        expected = self.told(self.shop, "--min-support", 0.06, "--plain")
        self.assertGreater(len(expected["itemsets"]), 40)
        ways = [(QUICK, ()), ((*QUICK, "-t", 1, "-p", 1), ()), ((*QUICK, "-t", 2, "-p", 2), ()),
                ((*QUICK, "--ranks", 3), ())]
        if mpirun(3):
            ways.append((QUICK, mpirun(3)))
        for way, before in ways:
            with self.subTest(way=way, before=before):
                told = self.told(self.shop, "--min-support", 0.06, *way, before=before)
                self.assertEqual(expected["itemsets"], told["itemsets"])
                self.assertEqual(expected["rules"], told["rules"])
                self.assertTrue(told["encryption"]["insecure_parameters"])
                ranks = 3 if before or "--ranks" in way else 1
                self.assertEqual(ranks, told["encryption"]["ranks"])

    def test_of_ranks_that_take_turns(self):
        self.generate("--transactions", 100, "--items", 8)
        self.told_by_ranks_that_take_turns(self.shop, "--min-support", 0.3, *QUICK)

    def test_with_secure_parameters(self):
        self.generate("--transactions", 3000, "--items", 20, "--mean-transaction", 4)
        expected = self.told(self.shop, "--min-support", 0.2, "--plain")
        told = self.told(self.shop, "--min-support", 0.2)
        self.assertEqual(expected["itemsets"], told["itemsets"])
        self.assertEqual(128, told["encryption"]["security_bits"])
        self.assertFalse(told["encryption"]["audited"])
        pairs = self.told(self.shop, "--min-support", 0.2, "--max-length", 2)
        self.assertEqual((4096, 0), (pairs["encryption"]["ring_degree"],
                                     pairs["encryption"]["key_switches"]))
        hidden = self.told(self.shop, "--min-support", 0.3, "--max-length", 2, "--hide-slots")
        self.assertEqual([one for one in pairs["itemsets"] if one["support"] >= 900],
                         hidden["itemsets"])
        self.assertGreater(hidden["encryption"]["plaintext_modulus"], 3000)

    def test_as_text_and_csv(self):
        self.shop.write_text("1 2\n1 2\n2 3\n\n")
        itemsets, rules = self.folder / "i.csv", self.folder / "r.csv"
        done = self.run_tool(self.shop, "--min-support", 0.5, "--plain", "--itemsets", itemsets,
                             "--rules", rules, code=0)
        self.assertIn("4 transactions; 3 itemsets", done.stdout)
        self.assertIn("2 => 1", done.stdout)
        self.assertEqual("items,length,support,share\n1,1,2,0.5\n2,1,3,0.75\n1 2,2,2,0.5\n",
                         itemsets.read_text())
        with rules.open() as file:
            self.assertEqual([("1", "2", "2"), ("2", "1", "2")],
                             [(row["if"], row["then"], row["support"])
                              for row in csv.DictReader(file)])
        plain = (self.shop, "--min-support", 0.5, "--plain")
        self.assertEqual(itemsets.read_text(), self.run_tool(*plain, "--itemsets", "-").stdout)
        self.assertEqual("", self.run_tool(*plain, "-q").stdout)

    def test_of_words_closed_and_maximal(self):
        self.shop.write_text("whole milk,rolls\nwhole milk,rolls,tea\nrolls\n")
        words = (self.shop, "--words", "comma", "--min-support", 0.3)
        for way in (("--plain",), QUICK, (*QUICK, "--ranks", 2)):
            closed = itemsets_of(self.told(*words, *way, "--closed"))
            self.assertEqual({("rolls",): 3, ("whole milk", "rolls"): 2,
                              ("whole milk", "rolls", "tea"): 1}, closed)
        told = self.told(*words, "--plain", "--maximal")
        self.assertEqual({("whole milk", "rolls", "tea"): 1}, itemsets_of(told))
        # Rules are those of all itemsets.
        self.assertEqual(told["rules"], self.told(*words, "--plain")["rules"])
        self.assertEqual("maximal", told["itemsets_kept"])
        text = self.run_tool(*words, "--plain", "--maximal", code=0).stdout
        self.assertIn("1 maximal itemset of up to 3 items", text)
        self.assertIn("whole milk, rolls, tea\n", text)

    def test_of_insecure_parameters_are_marked(self):
        self.shop.write_text("1 2\n1 2\n2 3\n")
        itemsets = self.folder / "i.csv"
        done = self.run_tool(self.shop, "--min-support", 0.5, *QUICK, "--itemsets", itemsets)
        self.assertIn("INSECURE PARAMETERS", done.stdout)
        self.assertTrue(itemsets.read_text().startswith("# insecure parameters\n"))

    def test_of_standard_input(self):
        told = self.told("-", "--min-support", 1, "--plain", stdin=None, input="1 2\n2\n")
        self.assertEqual({(2,): 2}, itemsets_of(told))


class Steps(Case):
    def setUp(self):
        super().setUp()
        self.client, self.server = self.folder / "client", self.folder / "server"

    def step(self, *arguments, **options):
        return self.run_tool(*arguments, code=0, **options).stdout

    def test_give_what_one_go_gives(self):
        self.generate("--transactions", 1500, "--items", 25, "--mean-transaction", 6)
        expected = self.told(self.shop, "--min-support", 0.1, "--plain")
        made = self.step("keygen", *QUICK, self.client, self.server)
        self.assertIn("INSECURE PARAMETERS", made)
        self.assertEqual(0o600, stat.S_IMODE((self.client / "secret.key").stat().st_mode))
        asked = self.step("encrypt", self.client, self.server, self.shop, "--min-support", 0.1)
        self.assertRegex(asked, r"INSECURE PARAMETERS\n.*query asks for \d+ candidates of 1 item")
        # The server has no access to the client's folder.
        self.client.rename(self.folder / "away")
        before = [mpirun(2)] if mpirun(2) else []
        results = self.folder / "results.json"
        while (self.server / "query").exists():
            counted = self.step("count", self.server, before=before.pop() if before else ())
            self.assertIn("INSECURE PARAMETERS", counted)
            (self.folder / "away").rename(self.client)
            self.step("decrypt", self.client, self.server, f"--json={results}")
            self.client.rename(self.folder / "away")
        told = json.loads(results.read_text())
        self.assertEqual(expected["itemsets"], told["itemsets"])
        self.assertEqual(expected["rules"], told["rules"])
        self.assertTrue(told["encryption"]["insecure_parameters"])

    def test_keep_the_items_words(self):
        self.shop.write_text("tea milk\ntea milk\nrolls\n")
        self.step("keygen", *QUICK, "--max-length", 1, self.client, self.server)
        self.step("encrypt", self.client, self.server, self.shop, "--words", "blank",
                  "--min-support", 0.5)
        self.step("count", self.server)
        done = self.step("decrypt", self.client, self.server, "--json")
        self.assertEqual({("tea",): 2, ("milk",): 2}, itemsets_of(json.loads(done)))

    def test_refuse_what_does_not_belong_together(self):
        self.generate("--transactions", 100, "--items", 5, "--density", 0.5)
        self.step("keygen", *QUICK, "--max-length", 2, self.client, self.server)
        self.refused("secret.key exists", "keygen", *QUICK, self.client, self.server)
        self.refused("made for itemsets of up to 2 items", "encrypt", self.client, self.server,
                     self.shop, "--min-support", 0.1, "--max-length", 3)
        # Without --max-length it is that of the keys.
        self.step("encrypt", self.client, self.server, self.shop, "--min-support", 0.1)
        others, theirs = self.folder / "others", self.folder / "theirs"
        self.step("keygen", *QUICK, others, theirs)
        shutil.copy(theirs / "public.keys", self.server)
        self.refused("encrypted with other keys", "count", self.server)
        database = self.server / "database"
        database.write_bytes(database.read_bytes()[:-1])
        self.refused("database: has not the length that it says", "count", self.server)
        self.refused("no-such-folder/database", "count", self.folder / "no-such-folder", code=1)

    def test_keep_the_secret_key_out_of_the_servers_folder(self):
        for client in (self.server, self.server / "client"):
            self.server.mkdir(exist_ok=True)
            self.refused("must not be the same, nor one inside the other", "keygen", *QUICK, client,
                         self.server)
        self.assertEqual([], list(self.folder.rglob("*.key*")))

    def test_more_transactions_than_the_keys_are_made_for(self):
        self.generate("--transactions", 70000, "--items", 2, "--density", 0.5)
        self.step("keygen", *QUICK, "--max-length", 2, "--hide-slots", "--transactions", 1000,
                  self.client, self.server)
        self.refused("70000 transactions are more than the plaintext modulus", "encrypt",
                     self.client, self.server, self.shop, "--min-support", 0.1, "--max-length", 2)


class Refusals(Case):
    def test_rings_that_are_insecure_or_not_of_a_power_of_two(self):
        self.shop.write_text("1 2\n")
        self.refused("would be insecure", self.shop, "--min-support", 1, "--ring-degree", 1024)
        self.refused("power of two", self.shop, "--min-support", 1, "--ring-degree", 1000)

    def test_all_transactions_is_a_legal_share(self):
        self.shop.write_text("1 2\n2\n")
        self.assertEqual({(2,): 2}, itemsets_of(self.told(self.shop, "--min-support", 1, *QUICK)))

    def test_files_that_are_no_transactions(self):
        for text, sentence in (("1 2\n3 x\n", "shop.dat:2: 'x' is no part"),
                               ("1\n-2\n", "shop.dat:2: an item number must not be negative"),
                               ("9999999999\n", "shop.dat:1: an item number is larger than"),
                               ("", "shop.dat: there is no transaction in it")):
            self.shop.write_text(text)
            for way in (("--plain",), (), ("--ranks", 2)):
                self.refused(sentence, self.shop, "--min-support", 0.5, *way)
        self.refused("nowhere.dat", self.folder / "nowhere.dat", "--min-support", 0.5, code=1)

    def test_nothing_frequent_is_a_result(self):
        self.shop.write_text("1\n2\n3\n")
        self.assertEqual([], self.told(self.shop, "--min-support", 0.5, *QUICK)["itemsets"])

    @tool_case.unless_sanitized
    def test_memory_that_does_not_suffice(self):
        self.generate("--transactions", 200_000, "--items", 400, "--density", 0.05)
        limit = ("prlimit", f"--as={2 << 30}")
        done = self.run_tool(self.shop, "--min-support", 0.01, "--max-length", 2, before=limit)
        self.assertNotEqual(0, done.returncode)
        self.assertRegex(done.stderr, "memory|are free")


class Losses(Case):
    def setUp(self):
        super().setUp()
        self.generate("--transactions", 60_000, "--items", 40, "--density", 0.4)
        self.request = (self.shop, "--min-support", 0.01, *QUICK)

    def test_a_killed_process_ends_the_run(self):
        process = self.start(*self.request, "-p", 2, "-t", 1)
        # Each length of itemsets is counted by processes of its own; one may end before it is hit.
        while process.poll() is None:
            for worker in children(process.pid)[-1:]:
                os.kill(worker, signal.SIGKILL)
            time.sleep(0.02)
        self.expect_loss(process)

    def test_a_killed_rank_ends_the_run(self):
        self.expect_loss_of_a_rank(*self.request)


if __name__ == "__main__":
    unittest.main()
