// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

// unseen are the settings without an effect on the small web of these tests, with the test that shows it. That they
// arrive in the options of the commands that use them, and in no others, shows TestSettingsArrive.
var unseen = map[string]string{
	settingDir:        "cmd/seine: every script names directories",
	"memory":          "engine: TestMemoryShares",
	"delay":           "frontier: the simulation",
	"per-host":        "frontier: the simulation",
	"concurrency":     "engine: TestControl",
	"timeout":         "engine/fetch: TestHostile",
	"allow-private":   "engine/fetch: TestGuard",
	"resolver":        "engine/fetch: TestResolver",
	"proxy":           "engine/fetch: TestProxy",
	"insecure-tls":    "engine/fetch: TestTLS",
	"trap-duplicates": "engine: TestTraps",
	"no-index":        "engine: TestNoIndex",
	"purge-orphans":   "engine: TestOrphans",
	"gone-unlinked":   "engine: TestOrphans",
	"orphan-unlinked": "engine: TestOrphans",
	"settle-every":    "engine: TestSettleBeside",
	"pdf":             "cmd/seine: pdf.txtar",
	"max-crawl-delay": "engine/internal/visit: robots_test.go",
	"ignore-by":       "engine/policy: TestLinkRule",
	"score-filtered":  "engine: TestOPIC",
	"type-schedule":   "engine/internal/phases: TestScheduleBounds",
	"schedule-hints":  "engine/internal/phases: TestHints",
	"index-login":     "cmd/seine: TestIndexLogin",
	"index-api-key":   "cmd/seine: TestIndexLogin",

	"crawl-log": "cmd/seine: log.txtar", "crawl-log-format": "cmd/seine: log.txtar",
	"crawl-log-size": "cmd/seine: log.txtar", "crawl-log-keep": "cmd/seine: log.txtar",
	"log": "cmd/seine: log.txtar", "log-format": "cmd/seine: log.txtar", "log-level": "cmd/seine: log.txtar",
}

// unseenOn are commands on which a setting has an effect that these tests do not show.
var unseenOn = map[string]uses{
	"requisites":  inMergedb | inSplitdb, // of a directory that has some
	"parse-later": inCrawl,               // only when pages are parsed
	"no-content":  inCrawl,               // what is not in the WARC files: TestNoContent of engine/internal/segment
	// The first of a store that was made without; the second of sitemaps: see together_test.go.
	"strip-tracking": inFilter | inUpdateDB, "sort-query": inUpdateDB, "merge-slashes": inUpdateDB,
	"url-rewrite": inUpdateDB, "url-rewrite-scopes": inUpdateDB, "rewrite-hosts": inUpdateDB,
	"protocols": inUpdateDB, "slashes": inUpdateDB,

	// Where something is removed of which there is a duplicate; on delete, which does the same, it shows. Invertlinks
	// removes something if another setting says so: see together_test.go. Stories: TestNearStory of package engine.
	"near-duplicates": restoring &^ inDelete, "dedup-order": restoring&^inDelete | inStories,
	"deny-hosts": inSplitdb | inInvertlinks, "allow-hosts": inSplitdb | inInvertlinks,
	"url-filter": inSplitdb | inInvertlinks, "url-prefixes": inSplitdb | inInvertlinks,
	"url-suffixes": inSplitdb | inInvertlinks,

	// Of sitemaps, which take a second setting: TestSitemaps of engine/internal/phases.
	"seed-score": inUpdateDB | inGenerate | inMergedb | inSplitdb,

	// Where links were withheld: see together_test.go.
	"scope": inMergedb | inSplitdb, "max-redirects": inMergedb | inSplitdb, "url-length": inSplitdb,
	"interval": inMergedb | inSplitdb, "max-interval": inMergedb | inSplitdb, "no-additions": inMergedb | inSplitdb,

	// Where the depth of a page falls whose links must be told: see together_test.go.
	"ignore-external": making &^ inCrawl &^ inUpdateDB, "ignore-internal": making &^ inCrawl &^ inUpdateDB,
	"score-internal": making &^ inCrawl &^ inUpdateDB, "score-external": making &^ inCrawl &^ inUpdateDB,

	// Only where it is "depth": TestWithheldScores and TestBreadthMerged of engine/internal/phases, and nutch.txtar.
	"scoring": inGenerate | inMergedb | inSplitdb | inLinkrank,

	// The first and second as dedup-order; the third is in TestExportAsSent.
	"max-inlinks": inFilter | inSplitdb | inExport,
}

// secondValues are values that differ from those of baseSettings. The value of a file is its text.
func secondValues(port string) map[string]string {
	return map[string]string{
		"seeds": "http://s.example:" + port + "/\n", "scope": "page", "max-depth": "1", "max-redirects": "0",
		"sitemaps": "true", "requisites": "true", "forms": "true", "schedule": "adaptive", "scoring": "opic",
		"contact": "other@example.org", "user-agent": "otherbot/1 (me@example.org)",
		"hosts":          "127.0.0.2 a.example b.example c.example d.example e.example s.example z.example\n",
		"strip-tracking": "false", "sort-query": "true", "merge-slashes": "true",
		"url-rewrite": rewriteOld, "url-rewrite-scopes": "inject=NAME,outlink=NAME,fetcher=NAME",
		"rewrite-hosts": "c.example z.example\n", "protocols": "c.example https\n", "slashes": "c.example +\n",
		"deny-hosts": "d.example\n", "allow-hosts": "a.example\n",
		"url-filter": "-/(old|two)\n+.\n", "url-prefixes": "http://a.example\n", "url-suffixes": "+\n/copy\n/old\n",
		"url-length": "40", "host-pages": "1", "domain-pages": "1", "host-bytes": "1", "domain-bytes": "1",
		"host-time": "1ms", "domain-time": "1ms", "refuse-types": "text/html",
		"interval": "1h", "max-interval": "48h", "ignore-external": "true", "ignore-internal": "true",
		"no-additions": "true", "purge-gone": "true", "linkrank": "page", "score-internal": "3", "score-external": "3",
		"seed-score":  "3",
		"parse-later": "true", "no-content": "true", "nofollow-links": "true", "max-inlinks": "1",
		"anchor-length": "3", "choose-redirect": "true",
		"signature": "bytes", "dedup-order": "length", "near-duplicates": "mark", "index-to": "SENT",
	}
}

// tryTime ends a crawl that waits for a host. It is not reached unless something is wrong.
const tryTime = time.Minute

// rewriteOld is a file of substitutions.
const rewriteOld = "<regex-normalize><regex><pattern>/old</pattern><substitution>/new</substitution></regex>" +
	"</regex-normalize>"

// setup is a try with one setting: the value that its command line gives to some commands.
type setup struct {
	w       *effectsWeb
	name    string
	given   uses             // the commands that get the setting
	config  string           // the settings file of all commands; "": base.toml
	now     func() time.Time // the clock; nil: the machine's
	loosely bool             // commands take also settings that they do not use
	dir     string           // the data directory; "": data
}

// options are the engine's options for a command.
func (s *setup) options(t *testing.T, command uses, fs storage.FS) engine.Options {
	t.Helper()
	f := &flags{}
	cmd := &cobra.Command{Use: "test"}
	f.settings(cmd, command)
	if s.loosely {
		f.uses = inAll
	}
	f.config = s.w.file(cmp.Or(s.config, "base.toml"))
	if s.given&command != 0 {
		f.set = []string{s.name + "=" + s.w.value(t, s.name)}
	}
	o, err := f.options(cmd)
	if err != nil {
		t.Fatal(err)
	}
	s.w.seeds = f.seedFiles()
	o.Now = s.now
	o.FS, o.Dir, o.Events, o.Memory, o.Dial = fs, cmp.Or(s.dir, "data"), engine.EventListener{}, 64<<20, s.w.dial
	return o
}

// phase opens the engine for a command and runs it. What it cannot do is part of the observation.
func (s *setup) phase(
	t *testing.T, fs storage.FS, seen *strings.Builder, command uses, run func(*engine.Engine) error,
) {
	t.Helper()
	e, err := engine.Open(s.options(t, command, fs))
	if err == nil {
		err = errors.Join(run(e), e.Close())
	}
	if err != nil {
		fmt.Fprintf(seen, "%s: %s\n", command, byChance.ReplaceAllString(err.Error(), "…"))
	}
}

// byChance finds what is chance in an error: the URL of the page that failed first, and the time at which something is
// due.
var byChance = regexp.MustCompile(`https?://\S+|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)

// scenarios are the ways to try a setting. Those that go on from a state get a copy of it.
var scenarios = []struct {
	commands uses
	goesOn   bool
	run      func(*setup, *testing.T, storage.FS) string
}{
	{batch, false, (*setup).first},
	{batch, true, (*setup).second},
	{batch, true, (*setup).third},
	{inCrawl, false, (*setup).crawl},
	{inCrawl, true, (*setup).later},
	{inRecrawl | inDelete, true, (*setup).remove},
	{inPurge, true, (*setup).purge},
	{inFilter, true, (*setup).filter},
	{inDedupURLs, true, (*setup).dedupURLs},
	{inFreegen, true, (*setup).freegen},
	{inMergelinkdb, true, (*setup).mergelinkdb},
	{inMergedb, true, (*setup).mergedb},
	{inSplitdb, true, (*setup).splitdb},
	{inCheckURL, true, (*setup).checkURLs},
	{inCheckParse, false, (*setup).checkParse},
}

// batch are the phases, one at a time.
const batch = inInject | inGenerate | inFetch | inParse | inUpdateDB | inInvertlinks | inDedup | inIndex

// TestSettingEffects: a setting changes what each command does that takes it, and no other command would do anything
// else with it. The crawls are small and in memory, of servers on loopback.
func TestSettingEffects(t *testing.T) {
	w := newEffectsWeb(t)
	state := storage.NewCrashableFS()
	(&setup{w: w}).first(t, state)
	// Links in another directory, whose URLs are written in ways that this one does not have.
	const written = "strip-tracking"
	(&setup{w: w, dir: "theirs", name: written, given: allSettings[written].used, config: "wide.toml"}).first(t, state)
	try := func(t *testing.T, i int, s setup) string {
		s.w = w
		fs := storage.NewCrashableFS()
		if scenarios[i].goesOn {
			fs = state.Crash(100, 1)
		}
		return scenarios[i].run(&s, t, fs)
	}
	base := make([]string, len(scenarios))
	for i := range scenarios {

		base[i] = try(t, i, setup{})
		if again := try(t, i, setup{}); again != base[i] {
			t.Fatalf("scenario %d: two equal crawls differ: %s", i, difference(base[i], again))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(allSettings)) {
		s := allSettings[name]
		if unseen[name] != "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			matters := uses(0)
			for i, scenario := range scenarios {
				with := base[i]
				if s.used&scenario.commands != 0 {
					with = try(t, i, setup{name: name, given: s.used})
				}
				if name == "signature" || s.used&scenario.commands&inCrawl != 0 {
					// The engine refuses another signature, so every command that got it would fail. A crawl takes the
					// setting anyway, and what opic finds depends on the order of its fetches.
				} else if loose := try(t, i, setup{name: name, given: inAll, loosely: true}); loose != with {
					t.Errorf("scenario %d: a command that does not take it would use it: %s", i,
						difference(with, loose))
				}
				for bit := range commandNames {
					command := uses(1 << bit)
					if s.used&scenario.commands&command == 0 || matters&command != 0 {
						continue
					}
					alone := setup{name: name, given: command}
					others := setup{name: name, given: s.used &^ command}
					if try(t, i, alone) != base[i] || try(t, i, others) != with {
						matters |= command
					}
				}
			}
			for bit := range commandNames {
				if command := uses(1 << bit); s.used&command&^matters&^inViews&^unseenOn[name] != 0 {
					t.Errorf("it has no effect on %s", command)
				}
			}
		})
	}
}

// difference shows the first line in which two observations differ.
func difference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return fmt.Sprintf("\n%.400s\n%.400s", as[i], bs[i])
		}
	}
	return fmt.Sprintf("%d lines, %d lines", len(as), len(bs))
}

// TestSectionEffects: each key of a section changes a batch crawl and a crawl, for a host, its domain and a prefix of
// its URLs alike. (Delay, timeout and per-host change only when things happen: see hosts.txtar and visit's
// TestRequestSettings and TestPerHost.)
func TestSectionEffects(t *testing.T) {
	w := newEffectsWeb(t)
	runs := []func(*setup, *testing.T, storage.FS) string{(*setup).first, (*setup).crawl}
	try := func(i int, section string) string {
		text, err := os.ReadFile(w.file("base.toml"))
		if err != nil {
			t.Fatal(err)
		}
		w.write(t, "sections.toml", string(text)+section)
		return runs[i](&setup{w: w, config: "sections.toml"}, t, storage.NewCrashableFS())
	}
	values := map[string]string{
		"headers": `{ X-Key = "one" }`, "cookies": `{ c = "two" }`, "username": "\"crew\"\nplain-auth = true",
		"user-agent": `"otherbot/1 (me@example.org)"`, "scope": `"page"`, "max-depth": "1", "interval": `"7h"`,
		"min-interval": `"1440h"`, "max-interval": `"7h"`,
		"max-pages": "1", "max-bytes": `"1"`, "max-time": `"1ms"`, "max-body": `"40"`,
	}
	elsewhere := []string{"delay", "per-host", "timeout", "password", "plain-auth"}
	for key := range sectionKinds["host"] {
		if values[key] == "" && !slices.Contains(elsewhere, key) {
			t.Errorf("no test has the key %s", key)
		}
	}
	for i := range runs {
		base := try(i, "")
		for key, value := range values {
			host := try(i, "[host.\"a.example\"]\n"+key+" = "+value)
			if host == base {
				t.Errorf("%s of a host has no effect in way %d", key, i)
			}
			if domain := try(i, "[domain.\"a.example\"]\n"+key+" = "+value); domain != host {
				t.Errorf("%s of a domain differs from that of its host: %s", key, difference(host, domain))
			}
			if _, ok := sectionKinds["prefix"][key]; !ok {
				continue
			}
			if try(i, "[prefix.\""+w.at("a", "/")+"\"]\n"+key+" = "+value) == base {
				t.Errorf("%s of a prefix has no effect in way %d", key, i)
			}
		}
	}
}

// TestSettingsArrive: the value of a setting that is a field of the engine's options arrives there and changes no other
// field, for each command that uses it.
func TestSettingsArrive(t *testing.T) {
	for name, s := range allSettings {
		if s.into == nil {
			continue
		}
		for bit, command := range commandNames {
			if s.used&(1<<bit) == 0 {
				continue
			}
			options := func(set ...string) (o engine.Options) {
				f, cmd := &flags{}, &cobra.Command{Use: "test"}
				f.settings(cmd, 1<<bit)
				f.set = set
				o, err := f.options(cmd)
				if err != nil {
					t.Fatal(err)
				}
				return o
			}
			base, with := options(), options(name+"="+other(s, 0))
			if reflect.DeepEqual(s.into(&base), s.into(&with)) {
				t.Errorf("%s: the value of %s does not arrive", command, name)
			}
			reflect.ValueOf(s.into(&with)).Elem().Set(reflect.ValueOf(s.into(&base)).Elem())
			if name == "requisites" { // which also says what is downloaded, and what the built-in filters refuse
				with.RefuseTypes, with.Filters = base.RefuseTypes, base.Filters
			}
			for _, o := range []*engine.Options{&base, &with} {
				o.OnFatal, o.Events, o.Parsers.Parsers = nil, engine.EventListener{}, nil // functions
			}
			if !reflect.DeepEqual(base, with) {
				t.Errorf("%s: %s changes more than its own field:\n%+v\n%+v", command, name, base, with)
			}
		}
	}
}
