#!/usr/bin/env python3
"""Makes a site of the documents that opens offline: texts, manual pages, the libraries' reference.

usage: make.py BUILD SITE     SITE is written anew; BUILD has the headers and the manual pages

Fails if a link leads nowhere, if Doxygen complains, and if a type or a function of an installed
header has no comment and is not in undocumented.txt.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from fnmatch import fnmatchcase
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
FOLDERS = ("", "docs/", "examples/", "packaging/", "python/", "tabane/**/")
PARTS = {"index.html": "tabane", "manual.html": "Manual", "reference/index.html": "C++",
         "GLOSSARY.html": "Glossary", "docs/design.html": "Design", "CHANGELOG.html": "Changes"}


def page(name, title, body):
    """Returns the page of this name, with links to the parts of the site."""
    up = "../" * name.count("/")
    links = " ".join(f'<a href="{up}{part}">{text}</a>' for part, text in PARTS.items())
    return (HERE / "page.html").read_text().format(
        title=title, style=f"{up}style.css", links=links, body=body)


def pandoc(form, path):
    """Returns a document as HTML."""
    return subprocess.run(["pandoc", "-f", form, "-t", "html", path], check=True,
                          stdout=subprocess.PIPE, encoding="utf-8").stdout


def place_of(path):
    """Returns where the document or folder of this path, from the root, is in the site."""
    if path.suffix == ".md":
        return "index.html" if str(path) == "README.md" else str(path.with_suffix(".html"))
    return place_of(path / "README.md") if (SOURCE / path).is_dir() else str(path)


def write_texts(site):
    """Writes all *.md, and the files that they link."""
    for found in [path for folder in FOLDERS for path in sorted(SOURCE.glob(folder + "*.md"))]:
        document = found.relative_to(SOURCE)
        name = place_of(document)

        def linked(match):
            path, anchor = re.fullmatch(r"([^#]*)(.*)", match[2]).groups()
            if ":" in path or not path:
                return match[0]
            target = (SOURCE / document.parent / path).resolve().relative_to(SOURCE)
            place = place_of(target)
            if place == str(target) and (SOURCE / target).is_file():
                (site / place).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(SOURCE / target, site / place)
            return f'{match[1]}="{"../" * name.count("/")}{place}{anchor}"'

        body = re.sub(r'\b(href|src)="([^"]*)"', linked, pandoc("gfm", SOURCE / document))
        title = (SOURCE / document).read_text().partition("\n")[0].lstrip("# ")
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(page(name, title, body))


def write_manual(build, site):
    """Writes the manual pages, and a list of them."""
    (site / "man").mkdir()
    items = []
    for source in sorted((build / "documents").glob("**/*.1")):
        body = re.sub(r"(?:<strong>)?\b(tabane(?:-[a-z0-9-]+)?)(?:</strong>)?\(1\)",
                      r'<a href="\1.html">\1</a>', pandoc("man", source))
        what = re.search(r"<p>tabane\S* [-–] (.*?)</p>", body, re.DOTALL)
        items.append(f'<li><a href="man/{source.stem}.html">{source.stem}</a>: {what[1]}</li>')
        name = f"man/{source.stem}.html"
        (site / name).write_text(page(name, source.stem, f"<h1>{source.stem}</h1>{body}"))
    (site / "manual.html").write_text(
        page("manual.html", "Manual pages", "<h1>Manual pages</h1><ul>" + "".join(items) + "</ul>"))


def write_reference(build, site):
    """Writes the reference of the installed headers. Returns Doxygen's complaints."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["cmake", "--install", build, "--component", "dev", "--prefix", folder],
                       check=True, stdout=subprocess.DEVNULL)
        settings = (HERE / "Doxyfile").read_text() + (
            f"INPUT={folder}/include {HERE}/libraries.dox\nSTRIP_FROM_PATH={folder}/include\n"
            f"FILTER_PATTERNS=*.h={HERE}/headers.py\nOUTPUT_DIRECTORY={site}\n"
            f"HTML_EXTRA_STYLESHEET={HERE}/reference.css\n")
        said = subprocess.run(["doxygen", "-"], input=settings, check=True, stderr=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, encoding="utf-8").stderr
    return said.replace(folder + "/include/", "").splitlines()


def undocumented(complaints, reasons):
    """Yields what is wrong with the reference: complaints, and reasons that none needs."""
    left = set(reasons)
    for line in complaints:
        found = re.search(r"(Compound|Member) (.*?)(?:\(.*\(function\) of namespace (\S+))? is not "
                          r"documented\.$", line)
        if not found:
            yield line
            continue
        name = f"{found[3]}::{found[2]}" if found[3] else found[2]
        fitting = {pattern for pattern in reasons if fnmatchcase(name, pattern)}
        left -= fitting
        if (found[1] == "Compound" or found[3]) and not fitting:
            yield line
    yield from (f"{name} in undocumented.txt is documented, or does not exist" for name in left)


def dead_links(site):
    """Yields the links of all pages to files or headings that do not exist."""
    pages = {path: path.read_text() for path in site.rglob("*.html")
             if "reference" not in path.relative_to(site).parts}
    for path, text in pages.items():
        for link in re.findall(r'\b(?:href|src)="([^"]*)"', text):
            file, _, anchor = link.partition("#")
            target = (path.parent / file).resolve() if file else path
            if ":" not in link and not (target.is_file() and (
                    not anchor or target not in pages or f'id="{anchor}"' in pages[target])):
                yield f"{path.relative_to(site)} links {link}, which does not exist"


def main():
    build, site = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    shutil.rmtree(site, ignore_errors=True)
    site.mkdir(parents=True)
    shutil.copyfile(HERE / "style.css", site / "style.css")
    write_texts(site)
    write_manual(build, site)
    lines = (HERE / "undocumented.txt").read_text().split("\n")
    reasons = [line.rpartition(": ")[0] for line in lines if line and not line.startswith("#")]
    wrong = [*undocumented(write_reference(build, site), reasons), *dead_links(site)]
    print("\n".join(dict.fromkeys(wrong)) or f"open {site}/index.html")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
