"""tabane slalom as users meet it: the radiosities of the reference, its files, what it refuses."""

import json
import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests/lib"))
from tool_case import Case, mpirun

BOX = """13.5 9.0 8.0
.80 .99 .54 .84 .01 .84
.80 .01 .54 .84 .01 .84
.80 .01 .54 .84 .99 .84
1.27 0 0 0 0 0
1.27 0 0 0 0 0
1.27 0 0 0 0 0
"""
FIRST_OF_60 = (1.86834405, 1.50033174, 1.59057493)


def radiosities(text):
    """Of an answer: the patches' (red, green, blue)."""
    lines = text.split("\n\n")[1].splitlines()[1:]
    return [tuple(map(float, line.split()[2:])) for line in lines]


class Slalom(Case):
    tool = "slalom"

    def setUp(self):
        super().setUp()
        self.geom, self.answer = self.folder / "geom", self.folder / "answer"
        self.geom.write_text(BOX)

    def run_slalom(self, *arguments, code=0, **options):
        return self.run_tool(*arguments, code=code, **options)

    def refused(self, sentence, *arguments, code=2):
        done = self.run_slalom(*arguments, code=code)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr, f"tabane slalom: {sentence}\n")
        self.assertFalse(self.answer.exists())

    def test_writes_the_references_radiosities(self):
        for ranks, grid in ((1, "1x1"), (2, "2x1"), (2, "1x2"), (4, "2x2"), (9, "3x3")):
            with self.subTest(grid):
                said = self.run_slalom("--patches", 60, "--ranks", ranks, "--grid", grid, "--geom",
                                       self.geom, "-o", self.answer).stdout
                self.assertIn("PASSED", said)
                text = self.answer.read_text()
                self.assertTrue(text.startswith("60 patches:\n"))
                found = radiosities(text)
                self.assertEqual(len(found), 60)
                for value, due in zip(found[0], FIRST_OF_60):
                    self.assertAlmostEqual(value, due, delta=1.1e-8)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["answer", "geom"])

    def test_mechanisms_change_nothing_but_the_time(self):
        for mechanisms in ("messages", "+broadcast", "+global", "all"):
            self.run_slalom("--patches", 300, "--ranks", 4, "--mechanisms", mechanisms, "-o",
                            self.answer)
            text = self.answer.read_text()
            if mechanisms == "messages":
                due = text
            self.assertEqual(text, due, mechanisms)

    def test_a_simulated_ap1000_is_near_what_was_published(self):
        told = self.told("--patches", 1067, "--machine", "ap1000:4x4")
        self.assertEqual((told["grid"], told["simulated_machine"]), ([4, 4], "ap1000:4x4"))
        self.assertLess(abs(told["seconds"] / 58.1 - 1), 0.05)
        most = self.told("--seconds", 2, "--machine", "ap1000:2x2")
        self.assertTrue(1.8 < most["seconds"] < 2, most["seconds"])

    def test_json_tells_all(self):
        record = self.told("--patches", 200, "--ranks", 2)
        self.assertEqual(record["patches"], 200)
        self.assertEqual(record["grid"], [2, 1])
        self.assertTrue(record["passed"] and record["row_sums_passed"])
        self.assertLess(record["performed_operations"], record["operations"])
        self.assertEqual([step["name"] for step in record["steps"]],
                         ["reader", "region", "set-up", "first face", "factor panel", "update",
                          "broadcast", "waiting", "substitution", "gather", "storer", "other"])

    def test_compares_with_a_limit_where_that_means_something(self):
        self.assertIsNone(self.told_by_ranks_that_take_turns("--patches", 1000)["limit"])
        self.assertEqual("DGEMM on all ranks",
                         self.told("--patches", 1000, "--ranks", 1)["limit"])

    def test_leaves_no_files_where_none_are_asked_for(self):
        self.run_slalom("--patches", 60, "-q")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["geom"])

    def test_writes_the_box_and_a_picture(self):
        self.run_slalom("--write-geom", self.folder / "mine")
        self.run_slalom("--geom", self.folder / "mine", "--patches", 60, "--picture",
                        self.folder / "box.png", "-o", self.answer)
        self.assertEqual((self.folder / "box.png").read_bytes()[:4], b"\x89PNG")
        self.assertAlmostEqual(radiosities(self.answer.read_text())[0][0], FIRST_OF_60[0],
                               delta=1.1e-8)

    def test_finds_the_most_patches_in_a_time(self):
        done = self.run_slalom("--seconds", "0.25s", "-o", self.answer, "--json", "--geom",
                               self.geom)
        record = json.loads(done.stdout)
        self.assertLess(record["seconds"], 0.25)
        self.assertEqual(len(radiosities(self.answer.read_text())), record["patches"])
        self.assertIn("patches: ", done.stderr)

    def test_ends_with_4_and_writes_nothing_if_the_check_fails(self):
        self.geom.write_text(BOX.replace("1.27", "1e-322"))  # where a double has few digits
        for answer in ("answer", "/dev/stdout"):
            said = self.run_slalom("--patches", 60, "--geom", self.geom, "-o", answer, "--picture",
                                   self.folder / "box.png", code=4).stdout
            self.assertIn("FAILED", said)
            self.assertNotIn("60 patches:", said)
            self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["geom"])

    def test_gives_every_colour_its_digits(self):
        lines = BOX.splitlines()
        lines[4:] = (line.replace("1.27", light) for line, light in
                     zip(lines[4:], ("1.27e-9", "1.27", "1.27e9")))
        self.geom.write_text("\n".join(lines))
        said = self.run_slalom("--patches", 60, "--geom", self.geom, "-o", self.answer).stdout
        self.assertIn("PASSED", said)
        for value, due, unit in zip(radiosities(self.answer.read_text())[0], FIRST_OF_60,
                                    (1e-9, 1, 1e9)):
            self.assertAlmostEqual(value / unit, due, delta=1.1e-8)

    def test_refuses_what_is_not_a_box(self):
        for old, new, line, sentence in (
                (" 9.0", " 100", 1, "size 2 of the box is 100; expected 1 or more and less than "
                                    "100"),
                (".99", ".9999", 2, "the reflectivity of face 2 in red is .9999; expected from "
                                    "1e-06 to 0.999"),
                (".84 .01", ".84 0", 2, "the reflectivity of face 5 in red is 0; expected more "
                                        "than 0, as the equations divide by it; 1e-06 is as good "
                                        "as black"),
                ("1.27", "l.27", 7, "the file ends after 21 of 39 numbers; expected the "
                                    "emissivity of face 1 in red"),
                ("1.27", "0", 7, "all emissivities in red are 0; expected a face that gives "
                                 "light")):
            with self.subTest(new):
                self.geom.write_text(BOX.replace(old, new) if new == "l.27"
                                     else BOX.replace(old, new, 1))
                self.refused(f"{self.geom}:{line}: {sentence}", "--geom", self.geom, "-o",
                             self.answer)

    def test_refuses_what_cannot_be_computed(self):
        self.geom.write_text(BOX.replace("13.5 9.0 8.0", "99 1 1"))
        self.refused("an eccentric box (99 x 1 x 1) requires more patches than 20", "--geom",
                     self.geom, "--patches", 20, "-o", self.answer)
        self.run_slalom("--patches", 5, code=2)
        self.run_slalom("--seconds", "0s", code=2)
        self.run_slalom("--patches", 60, "--seconds", "1s", code=2)
        self.run_slalom("--patches", 60, "--ranks", 2, "--grid", "3x1", code=2)
        done = self.run_slalom("--patches", 900000, code=1)
        self.assertRegex(done.stderr, r"900000 patches take .* of memory, and .* can be used: at "
                                      r"most \d+ patches fit")

    def test_says_before_it_computes_where_it_cannot_write(self):
        missing = self.folder / "none" / "answer"
        for flag in ("-o", "--picture"):
            begin = time.monotonic()
            done = self.run_slalom("--patches", 40000, flag, missing, code=2)
            self.assertIn(str(missing), done.stderr)
            self.assertLess(time.monotonic() - begin, 60)  # 40000 patches take minutes
        self.refused(f"{self.folder / 'nobox'}: open: No such file or directory", "--geom",
                     self.folder / "nobox", "-o", self.answer, code=1)

    def test_a_killed_rank_ends_the_others(self):
        self.expect_loss_of_a_rank("--patches", 9000, "-o", self.answer)
        self.assertFalse(self.answer.exists())

    def test_gives_the_same_over_mpi(self):
        launcher = mpirun(2)
        if launcher is None:
            self.skipTest("no Open MPI")
        self.run_slalom("--patches", 60, "-o", self.answer)
        due = self.answer.read_text()
        self.answer.unlink()
        done = self.run_slalom("--patches", 60, "-o", self.answer, before=launcher)
        self.assertEqual(done.stdout.count("60 patches"), 1)
        self.assertEqual(self.answer.read_text(), due)


if __name__ == "__main__":
    unittest.main()
