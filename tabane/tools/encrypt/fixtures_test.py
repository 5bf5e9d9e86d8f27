"""Trees that were sealed once, byte for byte: whatever tabane becomes, it opens them."""

import base64
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests"))
from aes_dir import Case

# With the key file 0, 1 ... 31, of a/f "text\n" and a/empty, and of a link to a/f.
WITHOUT_PARTS = {
    ".tabane/keys": (
        "VEJOS0VZUwIv3PIs8nAwqvG3g9EFpe1GAAEAAEBgI6UBigbvNG5oe5udIpfVScyiV3TGQol/bp72FoyyjzQABn+r"
        "91zWGlzqfYu77Bsz1/QV2y2zZjclWlQNRD0i0xZwUfOB9hDAbZiR9tZElZd5LRVHMhVDEZcX4ZwoDqE="),
    ".tabane/manifest": (
        "VEJOU0VBTAIBAhAAAAAAAC/c8izycDCq8beD0QWl7UZDslZ3HKkd+NYkCdsgWqfWVYVKSeGwM+TNJEjQxgnA5lk7"
        "9yWTIMyDNfnpo+dNuIOPu8B7BNcJBrJ+F+sK1QcjAAAARQABAABAYCOlAYoG7zRuaHubnSKX1UnMold0xkKJf26e"
        "9haMso80AAZ/q/dc1hpc6n2Lu+wbM9f0Fdsts2Y3JVpUDUQ9Iub6Bw2Lwhn6PrvknUyz6f5V3kcRVd+6Nfd6rmGm"
        "pJRU+WP8HY9g4G/etUIBQ0OphTcIaJYXKKdfYEyS0MJY9yaMEuc0/MtHugQL1dvqDP+YDh83n/OHvxeR+UxmvK++"
        "gZ0D3YGFT2N3H3+ZjWTEamgrPIWGOJUEJy1QWp2t8GGvHusJJHqBnXU9IZ+CJcuaSvfHMHTWlGDXEBerEqE19jgE"
        "MnogKwfNopK9RBjGZsE3Ub9mDIeaIVtF86ggp9YPaGr7PESSnCxqT3UqV1LGi44MFWJFyvASsPGFYMkKQA9cNukP"
        "DzJatUatp+JSLgwS3xbTj/2yhLZCd5YatJbczB0SXDP6zcSv0B4zKFBdbKfSr1zi1ypjY6GFOjUn/VJn"),
    "a/empty": (
        "VEJOU0VBTAIBAhAAAAAAAC/c8izycDCq8beD0QWl7UYyfqSo88OGYET61yz/OoilNIdQ4vI3eTzgVRTUWYw9SOTh"
        "0FiEr8RQ/DFVNeewkIijGjpa9D7Lc4sPAN612hsWAAAARQABAABAYCOlAYoG7zRuaHubnSKX1UnMold0xkKJf26e"
        "9haMso80AAZ/q/dc1hpc6n2Lu+wbM9f0Fdsts2Y3JVpUDUQ9IgtrXHBtteBRBcfo0pQmj4U="),
    "a/f": (
        "VEJOU0VBTAIBAhAAAAAAAC/c8izycDCq8beD0QWl7UaRrcsUJNPTH1py4uCjE3WrJ73wHbxZweEcykQfKk1u0q81"
        "jGaA3z2ixIrUpewnpsJ1AFPjuEAeF8DSJE39c0BEAAAARQABAABAYCOlAYoG7zRuaHubnSKX1UnMold0xkKJf26e"
        "9haMso80AAZ/q/dc1hpc6n2Lu+wbM9f0Fdsts2Y3JVpUDUQ9IgqtIijJlduJyKUKGLcpg5d4xZ4vZw=="),
}

# The same key; a/f "text\n" with another name, f, and attributes; a hole; an attribute of a.
WITH_PARTS = {
    "f": (
        "VEJOU0VBTAIBAhAAAAAAAOpoGhHXRZ6CxkROHFTxNzf5OnF35v2Y1lf80Qd25iP573eGkuloEI2/ZAj7oMabnZxR"
        "JeRWIwW8RRZjfn8lxAuF7mBfv2jGUHoe3NTqLa9DAAAARQABAABAIxG/rqy7DtQulepWmCrzpRcpc/AXins+aFZB"
        "BaODdqvZqUDCaB3i8AuEcR3B8fAsApHngxVuYDtnNJ4/0ptOGa3EdtWq5WvM5YVn3dVuB05BBSXgaQ=="),
    "hole": (
        "VEJOU0VBTAIBAhAAAAAAAOpoGhHXRZ6CxkROHFTxNzcf7ZKjOpfXIK4FG3Au4h4IsbquNOVOzV22RWFDjlKZCVGy"
        "j056uyQyOGiopCuhkbn20/BRPWOcKlflc8QddroaAAAARQABAABAIxG/rqy7DtQulepWmCrzpRcpc/AXins+aFZB"
        "BaODdqvZqUDCaB3i8AuEcR3B8fAsApHngxVuYDtnNJ4/0ptOGSEP7Jfwno+2EDyk65Ob6g6BKZn9SxElmF8W"),
    ".tabane/keys": (
        "VEJOS0VZUwLqaBoR10WegsZEThxU8Tc3AAEAAEAjEb+urLsO1C6V6laYKvOlFylz8BeKez5oVkEFo4N2q9mpQMJo"
        "HeLwC4RxHcHx8CwCkeeDFW5gO2c0nj/Sm04Z6qgZtyET3YsoxUN7OsBM2cOp+fy+DDdnXUJNlP/tfbA="),
    ".tabane/manifest": (
        "VEJOU0VBTAIBAhAAAAAAAOpoGhHXRZ6CxkROHFTxNzfaIAOYEe5M9qXZ7HTm7hTAcnv/+Ge4yBh4sHLoVvYHfQ9l"
        "o2cBjUvFvoAYBEpWCYruF0Q34ULTvbTSsuRZ7EFpAAAARQABAABAIxG/rqy7DtQulepWmCrzpRcpc/AXins+aFZB"
        "BaODdqvZqUDCaB3i8AuEcR3B8fAsApHngxVuYDtnNJ4/0ptOGVoQv1DoW6tmUCZfCkIzchbimZJ++BzJ11slgv37"
        "n1pkzZ2MhY/acKc5XSnZR8AjZMr0S7stZFKLmhfAuDnzRP1Ak+orwI7Ha5aU7SuZAqT7rFMXI9qNabNSAbN8+7vQ"
        "PrbR3sM8lODPrklv3fNc37xw7xf3akNXhL3Gz7eYlCwIsfU1wmmlHgX7QCQrE7VbI2mqzEsHTcviesv5ERD7/MOd"
        "e9fkUPSOHMQwTfnSs4Df62baENN1InCOTPqPjLs8jh5TSX1ePd0qc5kL6Ewuc4uKdWHlT1Jf/ppVXj4RzXFNAwU/"
        "rcqlojC/4eYa9mbol+z9baFAH3O/o7qKi1RSiwa45CjF4ecBGKrmv64TMQUjWuFormxf58pSDRdlOJIXkBqHuyIG"
        "kj62dZW+EG6dZcutg8msOGOoj8hxTwOMQLMPhdY9JC6eNsi3nJangGC6HAuQZiPHJn19b9E8fv2lJiddtclXS1ZD"
        "Bm1PDi6LkRThg0WAHt6MhYMrGjA+dDD3UvusWdvY"),
    "a/f": (
        "VEJOU0VBTAIBAhAAAAAAAOpoGhHXRZ6CxkROHFTxNzeJY5TdXVsvDyexlJq8DBLD9B+8YMC0TiM6S1eyQqUz14wv"
        "ZYZk70qksgLs0U8KollgKlmSbAIHxzA9J2aCBFkHAAAARQABAABAIxG/rqy7DtQulepWmCrzpRcpc/AXins+aFZB"
        "BaODdqvZqUDCaB3i8AuEcR3B8fAsApHngxVuYDtnNJ4/0ptOGXrTTO1BHvrNk4AE6mobPQ66SBxqsQ=="),
}


class Fixture(Case):
    def setUp(self):
        super().setUp()
        self.key.write_bytes(bytes(range(32)))

    def lay(self, files):
        for path, text in files.items():
            (self.sealed / path).parent.mkdir(parents=True, exist_ok=True)
            (self.sealed / path).write_bytes(base64.b64decode("".join(text)))

    def test_without_parts_opens(self):
        self.lay(WITHOUT_PARTS)
        root = "036dea39221819b64487bf1307551ec49dc676b46d80f7edaccf7cdfbe8cd1c1"
        self.run_ok("verify", *self.options(), "--root", root, self.sealed)
        self.decrypt()
        self.assertEqual((self.opened / "a" / "f").read_bytes(), b"text\n")
        self.assertEqual((self.opened / "a" / "empty").read_bytes(), b"")
        self.assertEqual(os.readlink(self.opened / "link"), "a/f")
        self.assertEqual((self.opened / "a" / "f").stat().st_mode & 0o7777, 0o640)
        self.assertEqual((self.opened / "a").stat().st_mtime, 10**9)
        self.run_ok("encrypt", "--resume", *self.options(), self.opened, self.sealed)
        self.run_ok("verify", *self.options(), self.sealed)

    def test_with_parts_opens(self):
        self.lay(WITH_PARTS)
        root = "4b820e089ad83561b6fe78ee2f84493588714f3bb02e7e188ee5bbcdd7576134"
        self.run_ok("verify", *self.options(), "--root", root, self.sealed)
        self.decrypt()
        self.assertEqual((self.opened / "a" / "f").read_bytes(), b"text\n")
        self.assertEqual((self.opened / "f").stat().st_nlink, 2)
        self.assertTrue(os.path.samefile(self.opened / "f", self.opened / "a" / "f"))
        self.assertEqual((self.opened / "hole").read_bytes(), bytes(10))
        self.assertEqual((self.opened / "hole").stat().st_blocks, 0)
        listed = self.run_ok("verify", "--list", *self.options(), self.sealed).stdout
        self.assertIn(b"  f link to a/f\n", listed)
        try:
            os.setxattr(self.opened, "user.test", b"")
        except OSError:
            self.skipTest("no extended attributes on this file system")
        self.decrypt("--xattrs", "--force")
        self.assertEqual(os.getxattr(self.opened / "f", "user.a"), b"value")
        self.assertEqual(os.getxattr(self.opened / "a", "user.b"), b"\0")


if __name__ == "__main__":
    unittest.main()
