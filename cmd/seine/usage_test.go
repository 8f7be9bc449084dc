// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestWrongUse: a wrong command line has exit status 2 and one line that names what is wrong and what is expected,
// and init writes nothing.
func TestWrongUse(t *testing.T) {
	for line, says := range map[string]string{
		// Commands, arguments and flags.
		"crwal":                    `unknown command "crwal"; did you mean crawl?`,
		"help crwal":               `unknown command "crwal"; did you mean crawl?`,
		"help check urll":          `unknown command "check urll"; did you mean url?`,
		"check urll":               `unknown command "check urll"; did you mean url?`,
		"crwal --dir d a.b":        `unknown command "crwal"; did you mean crawl?`,
		"check urll --dir d a.b":   `unknown command "check urll"; did you mean url?`,
		"report host --tpo 3":      "unknown flag: --tpo",
		"report hots --top 3":      `unknown command "report hots"; did you mean hosts or host?`,
		"simweb truht --urls":      `unknown command "simweb truht"; did you mean truth?`,
		"verify now":               `seine verify takes no argument, such as "now"`,
		"check url":                "seine check url needs a URL: seine check url URL…",
		"check parse a b":          "seine check parse takes one argument, not 2",
		"crawl --max-page 3 a.b":   "unknown flag: --max-page; did you mean --max-pages?",
		"generate --top":           "--top needs a value",
		"crawl --host-pages 2 a.b": "--host-pages is no flag: give --set host-pages=VALUE",
		"crawl --set dealy=1 a.b":  `there is no setting "dealy"; did you mean delay?`,
		"crawl --set depth=1 a.b":  `there is no setting "depth"; did you mean max-depth?`,
		// Numbers.
		"generate --top -1":                  `--top "-1": want a whole number, 0 or more`,
		"generate --top x":                   `--top "x": want a whole number, 0 or more`,
		"generate --max-per-host -1":         `--max-per-host "-1": want`,
		"generate --segments 0":              `--segments "0": want`,
		"generate --segments 1001":           "--segments 1001: want 1 to 1000",
		"generate --min-score x":             "--min-score",
		"generate --status new":              `--status: unknown status "db_new": use one of`,
		"generate --longest-interval 1":      `--longest-interval "1": want a duration such as 24h`,
		"generate --max-per-domain -1":       `--max-per-domain "-1": want`,
		"generate --max-per-address -1":      `--max-per-address "-1": want`,
		"freegen":                            "seine freegen needs a file of URLs",
		"freegen no-s":                       "freegen: there is no file no-s",
		"generate --add-days 1000000":        "--add-days 1000000: want at most 100000",
		"generate --add-days -1":             `--add-days "-1": want`,
		"linkrank --by votes":                "--by votes: want pagerank or inlink-domains",
		"linkrank --damping 1":               "--damping 1: want a number above 0 and below 1",
		"linkrank --host-decay 2":            "--host-decay 2: want a number from 0 to 1",
		"linkrank --tolerance 0":             "--tolerance 0: want a number above 0",
		"webgraph --graph page":              "--graph page: want host or domain",
		"linkrank --from here":               "--from here: want any or seeds",
		"linkrank --max-passes 0":            `--max-passes "0": want a whole number, 1 or more`,
		"linkrank --from seeds a.b":          "give TARGETs or --from, not both",
		"readdb --top -1":                    `--top "-1": want`,
		"readdb --dump --sample -1":          `--sample "-1": want`,
		"readlinks --url a.b --limit 0":      `--limit "0": want a whole number, 1 or more`,
		"readhost --top -1":                  `--top "-1": want`,
		"readseg --segment -1":               `--segment "-1": want`,
		"readseg --segment 4294967296":       `--segment "4294967296": want a whole number, 0 to 4294967295`,
		"generate --top 9999999999999999999": `want a whole number, 0 to 9223372036854775807`,
		"simweb --port 70000":                `--port "70000": want a whole number, 0 to 65535`,
		"fetch 0":                            `segment "0": want a number from 1`,
		"search --limit 0 x":                 `--limit "0": want`,
		"search --offset -1 x":               `--offset "-1": want`,
		"search --per-host -1 x":             `--per-host "-1": want`,
		"search --limit 10001 x":             `--limit "10001": want a whole number, 1 to 10000`,
		"search --offset 9999999 x":          `--offset "9999999": want a whole number, 0 to 9999`,
		"search --limit 9 --offset 9999 x":   "--limit 9 and --offset 9999: the hits up to 10000 can be seen",
		"search --count most x":              `--count "most": want exact or a whole number, 1 or more`,
		"search --count 0 x":                 `--count "0": want exact or`,
		"search --sort age x":                `--sort "age": unknown order "age": want score, newest`,
		"crawl --max-pages -1 a.b":           `--max-pages "-1": want`,
		"crawl --max-bytes -1 a.b":           `--max-bytes "-1": want a size`,
		"crawl --max-bytes NaN a.b":          `--max-bytes "NaN": want a size`,
		"crawl --max-time never a.b":         `--max-time "never": want a duration`,
		"fetch --max-pages -1":               `--max-pages "-1": want`,
		"bench --runs 0":                     `--runs "0": want`,
		"bench --pages x":                    `--pages "x": want whole numbers with commas`,
		"simweb --port -1":                   `--port "-1": want`,
		"simweb --web-hosts 0":               `--web-hosts "0": want a whole number, 1 to `,
		"simweb --external 2":                `--external "2": want a number, 0 to 1`,
		"simweb --latency -1s":               `--latency "-1s": want a duration such as 500ms or 2s, 0s or more`,
		"simweb truth --pages x":             `--pages "x": want a whole number, 1 to `,
		"simweb --graph f --web-hosts 3":     "--web-hosts has no effect beside --graph",
		// Values of settings: the engine's rules, in the words of settings.
		"crawl --concurrency 1000000 a.b":                        `--concurrency "1000000": want 1 to 100000`,
		"crawl --set per-host=65 a.b":                            `--set per-host "65": want 1 to 64`,
		"crawl --set trap-duplicates=101 a.b":                    `--set trap-duplicates "101": want a percentage`,
		"crawl --max-depth 65001 a.b":                            `--max-depth "65001": want 0 to 65000`,
		"crawl --set max-redirects=61 a.b":                       `--set max-redirects "61": want 0 to 60`,
		"crawl --set max-interval=1ns a.b":                       `--set max-interval "1ns": want 1s to`,
		"crawl --set interval=9999h a.b":                         `interval "9999h": want 1s to the longest interval`,
		"crawl --memory 1MB a.b":                                 `--memory "1MB": want 64MB or more`,
		"crawl --contact me a.b":                                 `--contact "me": want a URL such as`,
		"crawl --user-agent ü a.b":                               `--user-agent "ü": want printable ASCII`,
		"crawl --set proxy=http://u:hunter2@h:0 a.b":             `http://u:xxxxx@h:0": port out of range`,
		"crawl --set proxy=u:hunter2@h a.b":                      `--set proxy "…": not a URL with a host`,
		"crawl --set refuse-types=pdf a.b":                       `--set refuse-types "pdf": "pdf" is no media type`,
		"crawl --set dedup-order=age a.b":                        `--set dedup-order "age": unknown key "age"`,
		"crawl --set no-content=true --set parse-later=true a.b": `parse-later "true": it contradicts storing no`,
		"crawl --set resolver=a.b a.b":                           `--set resolver "a.b": name server`,
		"crawl --dir= a.b":                                       `--dir "": name a data directory`,
		// Files that settings name.
		"crawl --hosts no-h a.b":                       `--hosts "no-h": there is no file no-h`,
		"crawl --seeds no-s":                           `--seeds "no-s": there is no file no-s`,
		"crawl --seeds .":                              `--seeds ".": . is a folder`,
		"inject --seeds no-s a.b://":                   `--seeds "no-s": there is no file no-s`,
		"dedup-urls":                                   "seine dedup-urls needs a file of URLs",
		"dedup-urls no-s":                              "there is no file no-s",
		"dedup-urls .":                                 ". is a folder, not a file",
		"inject no-s":                                  "there is no file no-s; a URL needs its scheme here",
		"inject .":                                     ". is a folder, not a file",
		"crawl --config no-c a.b":                      "--config: there is no file no-c",
		"crawl --set deny-hosts=no-d a.b":              `--set deny-hosts "no-d": there is no file no-d`,
		"crawl --set allow-hosts=no-a a.b":             `--set allow-hosts "no-a": there is no file no-a`,
		"crawl --set url-filter=no-u a.b":              `--set url-filter "no-u": there is no file no-u`,
		"crawl --set url-prefixes=no-p a.b":            `--set url-prefixes "no-p": there is no file no-p`,
		"crawl --set url-suffixes=no-s a.b":            `--set url-suffixes "no-s": there is no file no-s`,
		"crawl --set url-rewrite=no-r a.b":             `--set url-rewrite "no-r": there is no file no-r`,
		"crawl --set url-rewrite-scopes=inject=no-r a": `"inject=no-r": there is no file no-r`,
		"crawl --set crawl-log=. a.b":                  `--set crawl-log ".": . is no file that lines can be`,
		"crawl --set crawl-log=seeds/x a.b":            `--set crawl-log "seeds/x": a part of seeds/x is a file`,
		"crawl --set slashes=no-s a.b":                 `--set slashes "no-s": there is no file no-s`,
		// Files that arguments and other flags name.
		"check parse no-p":                       "check parse: there is no file no-p",
		"check parse .":                          "check parse: . is a folder, not a file",
		"simweb truth --against no-t":            "--against: there is no file no-t",
		"simweb truth --against .":               "--against: . is a folder, not a file",
		"simweb truth --graph no-g":              "no-g",
		"simweb truth --docs no-d":               "no-d",
		"simweb --docs . --docs-robots no-r":     "--docs-robots: there is no file no-r",
		"simweb --hostile --hostile-replay no-h": "--hostile-replay: ",
		"config --dir unread":                    "seine.toml: is a directory",
		"readdb --dir unread --stats":            "seine.toml: is a directory",
		"init --dir made http://a.b/":            "made/seine.toml exists already and is not overwritten",
		"crawl --dir d --cpuprofile no/p a.b":    "--cpuprofile: open no/p: no such file",
		"bench scale --memory x":                 `--memory "x": want a size`,
		// What init writes.
		"crawl --serve 1:x --dir d a.b": `--serve "1:x": want an address and a port, such as 127.0.0.1:8080`,
		"serve --host-name a:80":        `--host-name "a:80": want a name without scheme, port and *`,
		"serve --host-name *.example":   `--host-name "*.example": want a name without scheme, port and *`,
		"serve --addr=":                 `--addr "": want an address and a port, such as 127.0.0.1:8080`,
		"init --dir d --memory 1MB":     `--memory "1MB": want 64MB`,
		"init --dir d --hosts no-h":     `there is no file no-h`,
		"init --dir d --seeds no-s":     `there is no file no-s`,
		"init --dir d ftp://a.example/": `"ftp://a.example/" is no seed`,
		"init --dir d seeds":            "seeds is a file: give --seeds seeds",
		"init --dir d --config c.toml":  "--config has no effect on init",
		// Flags without effect.
		"readdb --dump --sort":                        "--sort has no effect without --stats",
		"readdb --stats --format csv":                 "--format has no effect beside --stats",
		"readlinks --dump --limit 3":                  "--limit has no effect beside --dump",
		"readhost --top 3 --host a.b":                 "--top has no effect beside --host",
		"readseg --dump --url http://a.b/":            "--dump has no effect beside --url",
		"inject --update --overwrite http://a.b/":     "--update has no effect beside --overwrite",
		"search --complete --strict x":                "--strict has no effect beside --complete",
		"search --complete --sort newest x":           "--sort has no effect beside --complete",
		"search --count 5 --facets lang x":            "--count has no effect beside --facets",
		"verify --scope any":                          "--scope has no effect without --repair",
		"check parse http://a.b/ --base http://c.d/":  "--base has no effect on a page that is fetched",
		"simweb --docs-sitemaps":                      "--docs-sitemaps has no effect without --docs",
		"simweb --ca-file x":                          "--ca-file has no effect without --tls",
		"bench --host-pages 3":                        "--host-pages has no effect without --hosts",
		"readdb --status gone,redirekt":               `there is no status "redirekt"; did you mean redirect?`,
		"readdb --status db_gon":                      `there is no status "db_gon"; did you mean gone?`,
		"crawl --dir d -":                             "no usable seed",
		"inject --dir d ftp://a.example/":             "inject: no usable seed (lines: 1)",
		"search harbour -boat":                        "a query with -word needs quotes",
		"readseg --dir d --segment 7 --set scope=any": `--set scope has no effect on "seine readseg"`,
		// Nothing of a value is said that may hold a password.
		"readdb --stats --set proxy=http://u:hunter2@h:1":             `--set proxy has no effect on "seine readdb"`,
		"readdb --stats --proxy=http://u:hunter2@h:1":                 `--proxy has no effect on "seine readdb"`,
		"crawl --set http://u:hunter2@h:1 a.b":                        "--set needs NAME=VALUE",
		"crawl --set prxoy=http://u:hunter2@h:1 a.b":                  `--set: there is no setting "prxoy"; did you`,
		"crawl --set proxy=http://u:hunter2@h --set proxy=http://h a": "--set proxy sets it already",
		"crawl -proxy=http://u:hunter2@h:1 a.b":                       "unknown flag: -proxy; flags begin with two",
	} {
		t.Run(line, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for name, text := range map[string]string{"c.toml": "", "seeds": "https://a.example/\n"} {
				if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(os.MkdirAll("unread/seine.toml", 0o755), os.Mkdir("made", 0o755),
				os.WriteFile("made/seine.toml", nil, 0o644)); err != nil {
				t.Fatal(err)
			}
			status, _, stderr := runLine(line, "not a url\n")
			if status != exitUsage || !strings.Contains(stderr, says) || internalWords.MatchString(stderr) ||
				strings.Contains(stderr, "hunter2") {
				t.Errorf("status %d, %q, want %q", status, stderr, says)
			}
			if _, err := os.Stat("d"); err == nil {
				t.Error("it made a directory")
			}
		})
	}
}

// TestUnknownSegment: to name a segment that does not exist is wrong use of every command that takes one.
func TestUnknownSegment(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	if status, _, stderr := runLine("inject --dir "+dir+" https://a.example/", ""); status != exitOK {
		t.Fatal(stderr)
	}
	for _, line := range []string{
		"fetch 99", "parse 99", "updatedb 99", "invertlinks 99", "dedup 99", "index 99", "updatedb --segment 99",
		"readseg --segment 99", "readseg --segment 99 --dump", "readseg --segment 99 --url https://a.example/",
	} {
		status, _, stderr := runLine(line+" --dir "+dir, "")
		if status != exitUsage || !strings.Contains(stderr, `there is no segment 99: "seine readseg --dir`) {
			t.Errorf("%s: status %d, %q", line, status, stderr)
		}
	}
}

// TestWrongArguments: an argument that is no URL, target, host or data directory is wrong use, too, and one directory
// that is wrong keeps all of them from being added.
func TestWrongArguments(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, line := range []string{"inject --dir d https://a.example/", "inject --dir e https://e.example/"} {
		if status, _, stderr := runLine(line, ""); status != exitOK {
			t.Fatal(stderr)
		}
	}
	if err := errors.Join(os.Mkdir("empty", 0o755), os.WriteFile("file", nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	for line, says := range map[string]string{
		"readdb --url word":       `URL "word": no scheme`,
		"readdb --prefix ::":      "that is no name or address of a host",
		"readlinks --url ftp://a": "only http and https are crawled",
		"readseg --url word":      "no scheme",
		"readhost --host ::":      "that is no name or address of a host",
		"report url word":         "no scheme",
		"report host ::":          "that is no name or address of a host",
		"delete *":                `"*": write a host as example.org`,
		"recrawl *":               `"*": write a host as example.org`,
		"linkrank *":              `"*": write a host as example.org`,
		"mergedb e none":          "mergedb: there is no directory none",
		"mergelinkdb e none":      "mergelinkdb: there is no directory none",
		"mergedb e file":          "file is a file: name the data directory of a crawl",
		"mergedb e empty":         "no store in empty: name the data directory of a crawl",
		"mergelinkdb e empty":     "no store in empty: name the data directory of a crawl",
		"mergedb e d":             "it is the directory that its records would be added to",
		"splitdb f --part 0/2":    "want I/N",
		"splitdb f --part 2":      "want I/N",
		"splitdb f":               "give --part I/N or --domain NAME",
		"mergelinkdb e d":         "it is the directory that its links would be added to",
	} {
		status, out, stderr := runLine(line+" --dir d", "")
		if status != exitUsage || !strings.Contains(stderr, says) || out != "" {
			t.Errorf("%s: status %d, %s%s, want %q", line, status, out, stderr, says)
		}
	}
	if _, out, _ := runLine("readdb --dump --dir d", ""); strings.Contains(out, "e.example") {
		t.Errorf("wrong directories beside it, and e was added:\n%s", out)
	}
}

// runLine runs a command line whose words are between spaces.
func runLine(line, stdin string) (status int, stdout, stderr string) {
	var out, err bytes.Buffer
	status = run(strings.Fields(line), strings.NewReader(stdin), &out, &err)
	return status, out.String(), err.String()
}

// TestHelpCommands: each command has help of its own, in lines that fit a terminal, and without the words of the flag
// library. Each of the usual ways to get the version does.
func TestHelpCommands(t *testing.T) {
	foreign := []string{
		"stringArray", "strings", "uints", "ints  ", " int  ", "uint32", "float", "[command]", "(default [])",
		"help for ",
	}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		path := strings.Join(pathBelowRoot(cmd), " ")
		status, help, stderr := runLine("help "+path, "")
		if status != 0 || stderr != "" || !strings.Contains(help, "Usage: "+cmd.CommandPath()) {
			t.Errorf("help %s: status %d, %s%s", path, status, help, stderr)
		}
		if _, same, _ := runLine(path+" --help", ""); same != help {
			t.Errorf("%s --help differs from help %s:\n%s\n%s", path, path, same, help)
		}
		for _, line := range strings.Split(help, "\n") {
			for _, word := range foreign {
				if strings.Contains(line+"  ", word) {
					t.Errorf("help %s has %q: %s", path, word, line)
				}
			}
			if len([]rune(line)) > 120 {
				t.Errorf("help %s has a line of %d columns: %s", path, len([]rune(line)), line)
			}
		}
		for _, below := range cmd.Commands() {
			if below.IsAvailableCommand() && below.Name() != "help" {
				visit(below)
			}
		}
	}
	visit(newRoot(&console{}))
	for _, line := range []string{"version", "--version"} {
		if status, out, _ := runLine(line, ""); status != 0 || !strings.HasPrefix(out, "seine 0.") {
			t.Errorf("%s: status %d, %q", line, status, out)
		}
	}
}

// fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// TestOutputFails: what cannot be printed is an error.
func TestOutputFails(t *testing.T) {
	for _, line := range []string{"help", "crawl --help", "--version", "version", "config", "check url http://a.b/"} {
		if status := run(strings.Fields(line), nil, fullDisk{}, io.Discard); status == exitOK {
			t.Errorf("%s: status 0", line)
		}
	}
}

// TestConfigShowsSections: config shows what sections set and where, as text and as JSON, and no secret.
func TestConfigShowsSections(t *testing.T) {
	t.Chdir(t.TempDir())
	text := "[host.\"a.example\"]\ndelay = 4\npassword = \"hunter2\"\ncookies = { a = \"hunter2\" }\n" +
		"[prefix.\"https://b.example/c/\"]\ninterval = \"2h\"\n"
	if err := os.WriteFile("c.toml", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string][]string{
		"config --config c.toml --set proxy=http://u:hunter2@h": {
			`[host."a.example"]                            # c.toml:1`,
			`delay              = "4"                      # c.toml:2`,
			`cookies            = { a = "…" }              # c.toml:4`,
			`interval           = "2h"                     # c.toml:6`,
		},
		"config --config c.toml --json": {
			`{"name":"interval","value":"2h","source":"c.toml:6","default":"",` +
				`"section":"[prefix.\"https://b.example/c/\"]","help":"as interval"}`,
			`"name":"password","value":"…","source":"c.toml:3"`,
		},
	} {
		status, out, stderr := runLine(line, "")
		if status != 0 || strings.Contains(out, "hunter2") {
			t.Errorf("%s: status %d, %s%s", line, status, out, stderr)
		}
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("%s: %s, want %s", line, out, w)
			}
		}
	}
	if status, out, stderr := runLine("config --set per-host=99", ""); status != exitUsage ||
		!strings.Contains(out, "per-host") || !strings.Contains(stderr, "want 1 to 64") {
		t.Errorf("status %d, %s%s", status, out, stderr)
	}
}

// TestAdvice: commands that messages advise to run name the data directory of this run.
func TestAdvice(t *testing.T) {
	cmd := newRoot(&console{})
	for _, c := range []struct{ dir, text, want string }{
		{"nets", `run "seine generate" first`, `run "seine generate --dir nets" first`},
		{"nets", `"seine check url --dir DIR URL" says`, `"seine check url --dir nets URL" says`},
		{"a b", `"seine readdb --dump" shows`, `"seine readdb --dir "a b" --dump" shows`},
		{"nets", `"seine verify --repair --dir nets"`, `"seine verify --repair --dir nets"`},
		{"nets", `"seine version"`, `"seine version"`},
		{"./seine-data", `run "seine generate" first`, `run "seine generate" first`},
		{"./seine-data", `"seine check url --dir DIR URL"`, `"seine check url --dir ./seine-data URL"`},
		{"nets", `set it in DIR/seine.toml`, `set it in nets/seine.toml`},
		{"", `"seine check url --dir DIR URL"`, `"seine check url --dir DIR URL"`},
	} {
		cmd.Annotations = map[string]string{dirKey: c.dir}
		if got := advice(cmd, c.text); got != c.want {
			t.Errorf("%s in %q: %s, want %s", c.text, c.dir, got, c.want)
		}
	}
}
