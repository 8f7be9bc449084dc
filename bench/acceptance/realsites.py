#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The judge of bench/acceptance/realsites.sh: an independent walk of the sites, and the crawls compared with it.

It shares no code with seine: html.parser finds the links, urllib resolves them.
"""
import html.parser, http.client, json, os, random, signal, subprocess, sys, time
from urllib.parse import urljoin, urldefrag, urlsplit

work, seine = sys.argv[1], sys.argv[2]
seeds = open(work + "/seeds").read().split()
hosts = {n: a for a, n in (l.split() for l in open(work + "/hosts"))}
failures = []


def check(ok, what):
    print(("ok    " if ok else "FAIL  ") + what, flush=True)
    if not ok:
        failures.append(what)


FOLLOWED_REL = {"next", "prev", "canonical", "alternate"}


class Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.found, self.base = [], None

    def handle_starttag(self, tag, attrs):
        a = dict(attrs)
        rel = (a.get("rel") or "").lower().split()
        if tag in ("a", "area") and a.get("href") is not None:
            self.found.append((a["href"], "nofollow" in rel))
        elif tag in ("frame", "iframe") and a.get("src"):
            self.found.append((a["src"], False))
        elif tag == "link" and FOLLOWED_REL & set(rel) and a.get("href") and "html" in (a.get("type") or "html"):
            self.found.append((a["href"], False))
        elif tag == "base" and a.get("href") and self.base is None:
            self.base = a["href"]


SKIP = tuple("." + s for s in (
    "7z bz2 css deb epub exe gif gz ico jpeg jpg js pdf png ps svg tar tgz tif ttf woff woff2 xz zip").split())


def walk():
    conns, seen, queue, pages, dead = {}, set(seeds), list(seeds), set(), set()
    while queue:
        url = queue.pop(0)
        u = urlsplit(url)
        c = conns.setdefault(u.netloc, http.client.HTTPConnection(hosts[u.hostname], u.port))
        c.request("GET", u.path or "/", headers={"Host": u.netloc})
        r = c.getresponse()
        body = r.read()
        if r.status != 200:
            dead.add(url)
            continue
        pages.add(url)
        if "html" not in (r.getheader("Content-Type") or ""):
            continue
        p = Links()
        p.feed(body.decode("utf-8", "replace"))
        base = urljoin(url, p.base) if p.base else url
        for href, nofollow in p.found:
            try:
                to = urldefrag(urljoin(base, href.strip())).url
                v = urlsplit(to)
            except ValueError:
                continue
            if v.scheme != "http" or v.hostname not in hosts or nofollow or v.path.lower().endswith(SKIP):
                continue
            if v.path == "":
                to = f"http://{v.netloc}/" + ("?" + v.query if v.query else "")
            if to not in seen:
                seen.add(to)
                queue.append(to)
    return pages, dead


def run(*args, **kw):
    return subprocess.run([seine, *args], capture_output=True, text=True, **kw)


def crawl_args(d):
    return ["crawl", "--dir", d, "--seeds", work + "/seeds", "--hosts", work + "/hosts", "--allow-private",
            "--delay", "0s", "--json", "--quiet"]


def records(d):
    out = run("readdb", "--dir", d, "--dump", "--json").stdout
    return {r["url"]: r for r in map(json.loads, out.splitlines())}


def essence(d):
    """The part of a crawl that must be the same in every crawl of the site."""
    links = {}
    rec = records(d)
    some = sorted(rec)[:: max(1, len(rec) // 100)]
    for u in some:
        out = run("readlinks", "--dir", d, "--url", u, "--json").stdout
        links[u] = sorted(set(out.splitlines()))
    index = json.loads(run("readdb", "--dir", d, "--stats", "--json").stdout)
    pages = {u: (r["status"], r["signature"], r["http_status"], r["score"]) for u, r in rec.items()}
    return pages, links, index["status"], searches(d)


QUESTIONS = [
    ("how do I read a csv file", "python.example", "/library/csv.html"),
    ("asyncio gather", "python.example", "/library/asyncio-task.html"),
    ("os.path.join", "python.example", "/library/os.path.html"),
    ("regular expression operations", "python.example", "/library/re.html"),
    ("dataclass default factory", "python.example", "/library/dataclasses.html"),
    ("what is the global interpreter lock", "python.example", "/c-api/init.html /glossary.html"),
    ("parse command line arguments", "python.example", "/library/argparse.html"),
    ("unittest mock patch", "python.example", "/library/unittest.mock.html"),
    ("CREATE INDEX CONCURRENTLY", "postgres.example", "/sql-createindex.html"),
    ("shared_buffers", "postgres.example", "/runtime-config-resource.html"),
    ("vacuum full", "postgres.example", "/sql-vacuum.html"),
    ("logical replication", "postgres.example", "/logical-replication.html"),
    ("how do I back up a database with pg_dump", "postgres.example", "/app-pgdump.html"),
    ("json functions and operators", "postgres.example", "/functions-json.html"),
    ("wal configuration checkpoint", "postgres.example", "/wal-configuration.html /runtime-config-wal.html"),
    ("create a role with login", "postgres.example", "/sql-createrole.html"),
]


def searches(d):
    found = {}
    for q, _, _ in QUESTIONS:
        hits = json.loads(run("search", "--dir", d, "--limit", "3", "--json", q).stdout)["hits"]
        found[q] = [h["url"] for h in hits]
    return found


def main():
    pages, dead = walk()
    print(f"independent walk: {len(pages)} pages, {len(dead)} dead links")
    time.sleep(1.5)  # nginx writes its log once a second
    open(work + "/access.log", "w").close()
    d = work + "/whole"
    started = time.time()
    p = run(*crawl_args(d))
    check(p.returncode == 0, "crawl succeeds: " + p.stderr.strip())
    report = json.loads(p.stdout.strip().splitlines()[-1])
    print(f"crawl: {json.dumps(report)}")
    print(f"{report['fetched']} pages, {report['pages_per_second']:.0f} pages/s with WARC and index, "
          f"{1e3 * report['cpu_seconds'] / report['fetched']:.2f} ms of CPU a page, "
          f"{time.time() - started:.2f} s with start and end")
    rec = records(d)
    fetched = {u for u, r in rec.items() if r["status"] in ("db_fetched", "db_duplicate", "db_notmodified")}
    gone = {u for u, r in rec.items() if r["status"] == "db_gone"}
    check(fetched == pages, f"every reachable page is fetched and no other ({len(fetched)}; "
          f"missing {sorted(pages - fetched)[:5]}, extra {sorted(fetched - pages)[:5]})")
    check(gone == dead, f"dead links are gone ({len(gone)})")
    time.sleep(1.5)
    asked = [l.split()[:2] for l in open(work + "/access.log")]
    asked = [tuple(a) for a in asked if a[1] != "/robots.txt"]
    once = len(asked) == len(set(asked)) == len(pages) + len(dead)
    check(once, f"nothing is requested twice ({len(asked)} requests)")
    for q, host, path in QUESTIONS:
        hits = [urlsplit(u) for u in searches(d)[q]]
        found = [(u.hostname, u.path) for u in hits]
        check(any((host, p) in found for p in path.split()), f"search {q!r} finds {path} in the top three")
    p = run("verify", "--dir", d)
    check(p.returncode == 0, p.stdout.strip() or p.stderr.strip())
    if subprocess.run([sys.executable, "-c", "import warcio"], capture_output=True).returncode == 0:
        for f in sorted(os.listdir(d + "/warc")):
            p = subprocess.run([sys.executable, "-m", "warcio.cli", "check", d + "/warc/" + f],
                               capture_output=True, text=True)
            check(p.returncode == 0, f"warcio check {f} {p.stdout.strip()}")
    else:
        check(False, "warcio is installed, to check the WARC files (pip install warcio)")

    b = work + "/batch"
    check(run("inject", "--dir", b, work + "/seeds").returncode == 0, "inject")
    common = ["--hosts", work + "/hosts", "--allow-private", "--delay", "0s"]
    rounds = 0
    while rounds < 50:
        p = run("generate", "--dir", b)
        if p.returncode == 3:
            break
        rounds += 1
        for step in (["fetch", "--quiet", *common], ["updatedb"], ["invertlinks"], ["dedup"], ["index"]):
            p = run(step[0], "--dir", b, *step[1:])
            if p.returncode != 0:
                check(False, f"{step[0]}: {p.stderr.strip()}")
                return
    whole, batch = essence(d), essence(b)
    check(whole == batch, f"the phases one at a time ({rounds} rounds) give the same crawldb, linkdb and answers")

    k = work + "/killed"
    random.seed(4)
    kills = 0
    for _ in range(40):
        p = subprocess.Popen([seine, *crawl_args(k)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            p.wait(random.uniform(0.05, 0.5) if kills < 10 else None)
        except subprocess.TimeoutExpired:
            p.send_signal(signal.SIGKILL)
            p.wait()
            kills += 1
            continue
        check(p.returncode == 0, "crawl after kills: " + p.stderr.read().decode().strip())
        if kills >= 10 or p.returncode != 0:
            break
        kills += 1
    check(essence(k) == whole, f"a crawl that was killed {kills} times and started again gives the same")


main()
print(f"{len(failures)} failures")
sys.exit(1 if failures else 0)
