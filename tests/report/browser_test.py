"""Opens reports in headless Chromium: browser_test.py SOURCE [--screenshots DIRECTORY]

SOURCE is the program that writes them, or a folder of folders with a report.html. Where it is the
program, tests of studies that are built next to it add pages of invented studies.

Checks, at 1280 pixels in light and at 400 in dark, that nothing is logged to the console, nothing
is loaded, and nothing is wider than the window; that the values of results are seen; that each
figure shows one of its two drawings, with letters of 9 pixels or more, none of which is over
another, crossed by a line other than one of the grid, or cut off. Before that it spoils a drawing
in each of these ways, and fails if the checks do not see it. Exits 77 without Chromium.
"""

import base64
import itertools
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

QUIET = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--no-first-run", "--disable-quic",
         "--disable-dev-shm-usage", "--hide-scrollbars"]

# Of every drawing that is seen: its figure, its box, and its texts with size, place and shape.
DRAWINGS = """[...document.querySelectorAll('figure .plot svg')].filter(
    s => box(s).width > 0).map(s => ({
        figure: s.closest('figure').id, box: sides(s), frame: sides(s.closest('.plot')),
        texts: words(s).map(t => ({
            text: t.textContent.trim(), sides: sides(t), crossed: crossed(t, s),
            size: parseFloat(getComputedStyle(t).fontSize) * s.getScreenCTM().a}))}))"""

TOOLS = """
const box = e => e.getBoundingClientRect();
const sides = e => [box(e).left, box(e).top, box(e).right, box(e).bottom];
const words = s => [...s.querySelectorAll('text')].filter(t => t.textContent.trim());

// Pairs of ends, as gnuplot draws them: M to the first point of each line, L to the others.
const lines = s => [...s.querySelectorAll('path:not(.gridline, defs path)')].flatMap(p => {
    const to = p.getScreenCTM(), found = [];
    let before = null;
    for (const [, kind, x, y] of p.getAttribute('d').matchAll(/([ML]) *([-.\\d]+),([-.\\d]+)/g)) {
        const here = [to.a * x + to.c * y + to.e, to.b * x + to.d * y + to.f];
        if (kind == 'L') found.push([before, here]);
        before = here;
    }
    return found;
});

// Whether a line goes through a box.
const through = ([[x, y], [u, v]], [left, top, right, bottom]) => {
    let from = 0, to = 1;
    for (const [d, low, high] of [[u - x, left - x, right - x], [v - y, top - y, bottom - y]]) {
        if (d == 0 && (low > 0 || high < 0)) return false;
        if (d == 0) continue;
        from = Math.max(from, Math.min(low / d, high / d));
        to = Math.min(to, Math.max(low / d, high / d));
    }
    return from < to;
};

// Above and below the letters there is room in a box.
const crossed = (t, s) => {
    const [left, top, right, bottom] = sides(t), room = 0.1 * (bottom - top);
    s.lines ??= lines(s);
    return s.lines.some(line => through(line, [left, top + room, right, bottom - room]));
};
"""

MEASURE = TOOLS + """
return {scroll: document.documentElement.scrollWidth, window: window.innerWidth,
        title: document.title,
        figures: [...document.querySelectorAll('figure')].filter(
            f => f.querySelector('.plot svg')).map(f => f.id),
        drawings: DRAWINGS,
        results: [...document.querySelectorAll('#results .scroll')].map(
            e => e.scrollWidth - e.clientWidth),
        hidden: [...document.querySelectorAll('#results tbody td:nth-child(2)')].filter(
            e => box(e).right > box(e.closest('.scroll')).right).map(
            e => e.previousSibling.textContent),
        background: getComputedStyle(document.body).backgroundColor,
        loaded: performance.getEntriesByType('resource').map(r => r.name)
                    .filter(n => !n.startsWith('data:')),
        record: JSON.parse(document.getElementById('record').textContent).schema_version};
""".replace("DRAWINGS", DRAWINGS)

# What a person would complain about, done to the first drawing that is seen.
FAULTS = {
    "letters of": "texts[0].parentNode.setAttribute('font-size', 4)",
    " lies on ": "texts[1].parentNode.setAttribute('transform',"
                 " texts[0].parentNode.getAttribute('transform')); texts[1].textContent ="
                 " texts[0].textContent",
    "is crossed": "svg.lines = null; const [x, y, u, v] = sides(texts[0]), to ="
                  " svg.getScreenCTM().inverse(), line = document.createElementNS("
                  "'http://www.w3.org/2000/svg', 'path'), at = (x, y) => (to.a * x + to.e) + ','"
                  " + (to.d * y + to.f); line.setAttribute('d', 'M' + at(x, y) + ' L' + at(u, v));"
                  " svg.appendChild(line)",
    "is cut": "texts[0].parentNode.setAttribute('transform', 'translate(-9,50)')",
    "0 drawings": "svg.style.display = 'none'",
    "2 drawings": "for (const s of svg.parentNode.children) s.style.display = 'block'",
}


def wait_for(attempt):
    """Returns what attempt() returns once it does not fail; gives up after 20 s."""
    for _ in range(200):
        try:
            return attempt()
        except (OSError, IndexError):
            time.sleep(0.1)
    return attempt()


class Browser:
    """A session of chromedriver, through its HTTP interface.

    Everything is addressed by 127.0.0.1: by itself the driver asks for "localhost", a name that
    a machine without /etc/hosts does not know. So Chromium is started here.
    """

    def __init__(self, chromium, driver, profile):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.base = f"http://127.0.0.1:{port}"
        self.session = None
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.processes = [
            subprocess.Popen([chromium, *QUIET, f"--user-data-dir={profile}",
                              "--remote-debugging-address=127.0.0.1",
                              "--remote-debugging-port=0", "about:blank"], **silent),
            subprocess.Popen([driver, f"--port={port}"], **silent)]
        try:
            self.open_session(pathlib.Path(profile) / "DevToolsActivePort")
        except BaseException:
            self.close()
            raise

    def open_session(self, port_file):
        debugger = "127.0.0.1:" + wait_for(lambda: port_file.read_text().split()[0])
        wait_for(lambda: self.call("GET", "/status"))
        capabilities = {"browserName": "chrome",
                        "goog:chromeOptions": {"debuggerAddress": debugger},
                        "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        reply = self.call("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
        self.session = reply["sessionId"]

    def call(self, method, path, body=None):
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.base + path, data, method=method,
                                         headers={"Content-Type": "application/json"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=120) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            said = error.read().decode(errors="replace")
            raise RuntimeError(f"{method} {path}: {error}: {said}") from error

    def post(self, path, body):
        return self.call("POST", f"/session/{self.session}{path}", body)

    def devtools(self, command, **params):
        return self.post("/goog/cdp/execute", {"cmd": command, "params": params})

    def script(self, text):
        return self.post("/execute/sync", {"script": text, "args": []})

    def log(self, kind):
        return self.post("/se/log", {"type": kind})

    def close(self):
        try:
            if self.session:
                self.call("DELETE", f"/session/{self.session}")
        except (OSError, RuntimeError):
            pass
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()


def network_requests(browser, own):
    """Addresses asked for by the page, other than the page itself and data inside it."""
    asked = []
    for entry in browser.log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            url = message["params"]["request"]["url"]
            if url != own and not url.startswith("data:"):
                asked.append(url)
    return asked


def drawing_faults(drawings, figures):
    """What is wrong with how figures are drawn: how often, how small, over each other, cut."""
    faults = []
    for figure in figures:
        shown = sum(drawing["figure"] == figure for drawing in drawings)
        if shown != 1:
            faults.append(f"{figure}: {shown} drawings are shown")
    for drawing in drawings:
        left, top, right, bottom = drawing["box"]
        if right - left < 100 or bottom - top < 50 or right > drawing["frame"][2] + 1:
            faults.append(f"{drawing['figure']}: its box is {drawing['box']}")
        texts = [(t["text"], t["sides"], t["size"], t["crossed"]) for t in drawing["texts"]]
        for text, sides, size, crossed in texts:
            if crossed:
                faults.append(f"{drawing['figure']}: '{text}' is crossed by a line")
            if size < 9:
                faults.append(f"{drawing['figure']}: '{text}' has letters of {size:.1f} pixels")
            if sides[0] < left - 1 or sides[1] < top - 2 or sides[2] > right + 1 \
                    or sides[3] > bottom + 2:
                faults.append(f"{drawing['figure']}: '{text}' is cut: {sides} of {drawing['box']}")
        # Above and below the letters there is room in a box, more than 2 pixels of it.
        for (one, a, *_), (other, b, *_) in itertools.combinations(texts, 2):
            if min(a[2], b[2]) - max(a[0], b[0]) > 0.5 and min(a[3], b[3]) - max(a[1], b[1]) > 4:
                faults.append(f"{drawing['figure']}: '{one}' lies on '{other}'")
    return faults


def blind_checks(browser, report):
    """The faults that drawing_faults() does not see in a page that was sound before."""
    blind = []
    for seen_as, spoil in FAULTS.items():
        browser.post("/url", {"url": report.resolve().as_uri()})
        before = browser.script(MEASURE)
        browser.script(TOOLS + "const svg = [...document.querySelectorAll('figure .plot svg')]"
                       ".find(s => box(s).width > 0);"
                       "const texts = svg.querySelectorAll('text');" + spoil)
        after = browser.script(MEASURE)
        new = set(drawing_faults(after["drawings"], after["figures"])) - set(
            drawing_faults(before["drawings"], before["figures"]))
        if not any(seen_as in fault for fault in new):
            blind.append(f"does not see a drawing spoilt by {spoil}: {new}")
    return blind


def check(browser, report, width, scheme, screenshots):
    browser.devtools("Emulation.setDeviceMetricsOverride", width=width, height=900,
                     deviceScaleFactor=1, mobile=width < 600)
    browser.devtools("Emulation.setEmulatedMedia",
                     features=[{"name": "prefers-color-scheme", "value": scheme}])
    own = report.resolve().as_uri()
    browser.post("/url", {"url": "about:blank"})
    browser.log("performance")  # what the browser's own first page asked for
    browser.post("/url", {"url": own})
    seen = browser.script(MEASURE)
    faults = [f"console: {line['message']}" for line in browser.log("browser")]
    faults += [f"asks for {url}" for url in network_requests(browser, own) + seen["loaded"]]
    if seen["scroll"] > seen["window"] or seen["window"] > width:
        faults.append(f"{seen['scroll']} pixels wide in a window of {seen['window']}")
    fits = width >= 1280 and report.parent.name != "hostile"
    if fits and any(hidden > 0 for hidden in seen["results"]):
        faults.append(f"{seen['results']} pixels of the table of results are hidden")
    if seen["hidden"] and report.parent.name != "hostile":
        faults.append(f"{len(seen['hidden'])} values are cut, such as of {seen['hidden'][0]}")
    faults += drawing_faults(seen["drawings"], seen["figures"])
    for ending in (".svg", ".narrow.svg"):
        files = {each.name.removesuffix(ending) for each in report.parent.glob("*" + ending)}
        if {name for name in files if "." not in name} != set(seen["figures"]):
            faults.append(f"files *{ending}: {sorted(files)}, figures: {seen['figures']}")
    if seen["record"] != 2:
        faults.append("the record inside the page cannot be read")
    if seen["title"] == "owned":
        faults.append("a text of the record ran as a script")
    if screenshots:
        picture = browser.devtools("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        name = f"{report.parent.name}-{width}-{scheme}.png"
        (screenshots / name).write_bytes(base64.b64decode(picture))
    return seen["background"], faults


def add_pages_of_studies(studies, folder):
    def pages():
        return set(pathlib.Path(folder).glob("*/report.html"))

    before = pages()
    tests = [test for test in studies.glob("*/*_test") if not test.name.endswith("_fork_test")]
    for test in sorted(tests):
        subprocess.run([test, "--gtest_filter=*Views.*:*Tables.*"], check=True,
                       stdout=subprocess.DEVNULL, env={**os.environ, "TABANE_PAGES": folder})
    if tests and pages() == before:
        sys.exit("no test of a study has written a page")


def main(arguments):
    screenshots = None
    if "--screenshots" in arguments:
        at = arguments.index("--screenshots")
        screenshots = pathlib.Path(arguments[at + 1])
        screenshots.mkdir(parents=True, exist_ok=True)
        del arguments[at:at + 2]
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if not chromium or not driver:
        print("skipped: chromium and chromedriver are not installed")
        return 77
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        given = pathlib.Path(arguments[0])
        if not given.is_dir():
            subprocess.run([given, folder], check=True)
            add_pages_of_studies(given.resolve().parents[1] / "modules/studies", folder)
        reports = sorted((given if given.is_dir() else pathlib.Path(folder)).glob("*/report.html"))
        failed = not reports
        browser = Browser(chromium, driver, pathlib.Path(folder, "profile"))
        try:
            for fault in blind_checks(browser, reports[0]) if reports else []:
                print(fault)
                failed = True
            for report in reports:
                backgrounds = {}
                for width, scheme in ((1280, "light"), (400, "dark")):
                    background, faults = check(browser, report, width, scheme, screenshots)
                    backgrounds[scheme] = background
                    for fault in faults:
                        print(f"{report.parent.name}, {width} pixels, {scheme}: {fault}")
                        failed = True
                if backgrounds["light"] == backgrounds["dark"]:
                    print(f"{report.parent.name}: looks the same in light and dark")
                    failed = True
        finally:
            browser.close()
    print("failed" if failed else f"{len(reports)} reports are sound")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
