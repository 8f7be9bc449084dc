// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// readSettings resolves the settings of a TOML text that --config names, for a command with all settings and the given
// arguments.
func readSettings(t *testing.T, text string, args ...string) (*flags, error) {
	t.Helper()
	f := &flags{}
	cmd := &cobra.Command{Use: "test"}
	f.settings(cmd, inAll)
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := cmd.ParseFlags(append(args, "--config", path)); err != nil {
		t.Fatal(err)
	}
	var err error
	f.run, err = f.resolve(cmd)
	return f, err
}

// other is a value of a setting that is not its default. Each n gives another, where there are several.
func other(s *setting, n int) string {
	switch s.kind.word {
	case "":
		return map[string]string{"true": "false", "false": "true"}[s.def]
	case aCount.word:
		return fmt.Sprint(20 + n)
	case aDuration.word:
		return fmt.Sprintf("%ds", 90+n)
	case aSize.word:
		return fmt.Sprintf("%dMB", 90+n)
	case aScope.word:
		return []string{"page", "domain", "any", "prefix"}[n]
	case "word":
		return map[string]string{"schedule": "adaptive", "scoring": "opic", "signature": "text",
			"near-duplicates": "mark", "linkrank": "host", "ignore-by": "domain", "crawl-log-format": "heritrix",
			"log-format": "json", "log-level": "debug"}[s.name]
	}
	switch s.name {
	case "resolver":
		return fmt.Sprintf("127.0.0.1:%d", 53+n)
	case "type-schedule":
		return fmt.Sprintf("video/* min=%dh", n+1)
	case "refuse-types":
		return fmt.Sprintf("video/x-%d", n)
	case "contact":
		return fmt.Sprintf("me-%d@a.example", n)
	case "dedup-order":
		return []string{"time", "https", "length", "score"}[n]
	case "proxy":
		return fmt.Sprintf("http://127.0.0.1:%d", 3128+n)
	case "url-rewrite-scopes":
		return fmt.Sprintf("outlink=/file-%d", n)
	}
	return fmt.Sprintf("/text-%d", n)
}

// TestSources: each source of a setting overrides the ones before it, and says where the value is.
func TestSources(t *testing.T) {
	dir := t.TempDir()
	for name, s := range allSettings {
		if name == settingDir {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if other(s, 0) == "" {
				t.Fatal("the function other of this test knows no second value")
			}
			write := func(file string, n int) string {
				path := filepath.Join(dir, file)
				text := fmt.Sprintf("# comment\n%s = %s\n", name, quoted(s.kind, other(s, n)))
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				return path
			}
			own, config := filepath.Join(dir, settingsFile), filepath.Join(dir, "config.toml")
			if err := os.RemoveAll(own); err != nil {
				t.Fatal(err)
			}
			check := func(text, where string, args ...string) {
				t.Helper()
				f := &flags{}
				cmd := &cobra.Command{Use: "test"}
				f.settings(cmd, inAll)
				if err := cmd.ParseFlags(append(args, "--dir", dir)); err != nil {
					t.Fatal(err)
				}
				run, err := f.resolve(cmd)
				if got := run.values[name]; err != nil || got.text != text || got.where != where {
					t.Errorf("%+v, %v; want %s from %s", got, err, text, where)
				}
			}
			check(s.def, "default")
			write(settingsFile, 0)
			check(other(s, 0), own+":2")
			write("config.toml", 1)
			check(other(s, 1), config+":2", "--config", config)
			t.Setenv(variable(name), other(s, 2))
			check(other(s, 2), variable(name), "--config", config)
			if s.flag {
				check(other(s, 3), "--"+name, "--config", config, "--"+name+"="+other(s, 3))
			}
			check(other(s, 3), "--set "+name, "--config", config, "--set", name+"="+other(s, 3))
		})
	}
}

// TestFilesOfSettings: names of files are relative to the folder of the settings file in which they are.
func TestFilesOfSettings(t *testing.T) {
	f, err := readSettings(t, "hosts = \"h\"\nseeds = [\"a\", \"/b\"]\nurl-rewrite-scopes = \"inject=c,outlink=/d\"\n"+
		"slashes = \"\"", "--set", "url-filter=e")
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Dir(f.config)
	for name, want := range map[string]string{
		"hosts": folder + "/h", "seeds": folder + "/a,/b", "slashes": "", "url-filter": "e",
		"url-rewrite-scopes": "inject=" + folder + "/c,outlink=/d",
	} {
		if got := f.text(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestFaultySettings: an error names the file, the section and the key.
func TestFaultySettings(t *testing.T) {
	for text, says := range map[string]string{
		"\ndealy = \"2s\"":                             `toml:2: there is no setting "dealy"; did you mean delay?`,
		"Delay = \"2s\"":                               `no setting "Delay"; did you mean delay?`, // toml accepts it
		"[delay]\nx = 1":                               "config.toml:1: delay: want one value, not a section",
		"[hosts.\"a\"]\nx = 1":                         "config.toml:1: hosts: want one value, not a section",
		"[limits]\nx = 1":                              `toml:1: there is no section [limits]: want sections such as`,
		"concurrency = \"many\"":                       `config.toml:1: concurrency "many": want a whole number, 1`,
		"x = 1\n":                                      `there is no setting "x"; "seine config" lists them`,
		"\ndelay = \"soon\"":                           `config.toml:2: delay "soon": want a duration`,
		"delay = 2024-01-01":                           `config.toml:1: delay: want one value, not a date`,
		"seeds = [1]":                                  "config.toml:1: seeds: want a list of texts",
		"pdf = 1":                                      `config.toml:1: pdf "1": want true or false`,
		"host = 1":                                     `config.toml:1: host: want sections such as [host."www`,
		"\ndelay = ":                                   "toml:2: delay: unexpected EOF; expected value: a text needs",
		"delay = soon":                                 "config.toml:1: delay: expected value but found",
		"concurrency = 99999999999999999999":           "toml:1: concurrency: 99999999999999999999 is too large a",
		"delay = \"2s\"\ndelay = \"2s\"":               "config.toml:2: delay: Key 'delay' has already been defined",
		"[host.\"a.example\"]\ndealy = \"2s\"":         `toml:2: [host."a.example"]: there is no setting "dealy"; did`,
		"[host.\"a.example\"]\nseeds = \"2s\"":         `[host."a.example"]: there is no setting "seeds"; a section`,
		"[host.\"a.example\"]\nscope=1":                `config.toml:2: [host."a.example"]: scope "1": want page`,
		"[host.www.example.org]\nscope=1":              `the name of a section needs quotes: [host."www.example.org"]`,
		"[host.\"a.example\".headers]\nX-Key = 1":      `toml:2: [host."a.example"]: headers: X-Key: want a text`,
		"[[host.\"a.example\"]]\ndelay = \"1s\"":       `config.toml:1: [host."a.example"]: want a section of`,
		"[host]\n\"a.example\" = \"2s\"":               `config.toml:2: [host."a.example"]: want a section of`,
		"[host.\"a.example\"]\nheaders = \"X: y\"":     `toml:2: [host."a.example"]: headers: want names and`,
		"[host.\"a.example\".limits]\nmax-pages = 100": `toml:1: [host."a.example"]: there is no setting "limits"`,
		"\ndelay = [\n\"a\",\n\"b\"]":                  `config.toml:2: delay "a,b": want`,
	} {
		f, err := readSettings(t, text)
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), f.config) ||
			internalWords.MatchString(err.Error()) {
			t.Errorf("%q: %v, want %q and the name of the file in it", text, err, says)
		}
	}
	_, err := readSettings(t, "delay = \"a\"\nscope = \"b\"")
	if err == nil || !strings.Contains(err.Error(), "toml:1: delay") ||
		!strings.Contains(err.Error(), "toml:2: scope") {
		t.Errorf("%v, want all faults", err)
	}
	_, err = readSettings(t, "x = 1\n[host.\"a\"]\nscope = 1\ny = 1\n")
	if err == nil || !strings.Contains(err.Error(), `"x"`) || !strings.Contains(err.Error(), "toml:4: ") {
		t.Errorf("%v, want all faults", err)
	}
}

// internalWords are words of Go and its packages, which no message has.
var internalWords = regexp.MustCompile(
	`interface ?\{|strconv|incompatible types|[^.]toml: |int64|pflag|invalid argument`,
)

// TestFewFlags: help of a command fits on two screens, because rare settings are no flags.
func TestFewFlags(t *testing.T) {
	for _, cmd := range commands(&console{}) {
		n := 1 // --help
		cmd.Flags().VisitAll(func(*pflag.Flag) { n++ })
		if most := 25; n > most && cmd.Name() != "simweb" && cmd.Name() != "bench" {
			t.Errorf("%s has %d flags, more than %d: let a setting be no flag", cmd.Name(), n, most)
		}
	}
}

// TestUsedSettings: a command takes the settings that it uses, as flags or by --set, and refuses the others with an
// error that names the commands that use them. From a settings file they are not passed on.
func TestUsedSettings(t *testing.T) {
	for bit, command := range commandNames {
		for name, s := range allSettings {
			make := func() (*flags, *cobra.Command) {
				f, cmd := &flags{}, &cobra.Command{Use: command}
				f.settings(cmd, 1<<bit)
				return f, cmd
			}
			used := s.used&(1<<bit) != 0
			_, cmd := make()
			err := cmd.ParseFlags([]string{"--" + name + "=" + other(s, 0)})
			if err != nil {
				err = cmd.FlagErrorFunc()(cmd, err)
			}
			switch {
			case used && s.flag && err != nil:
				t.Errorf("%s --%s: %v", command, name, err)
			case used && !s.flag && (err == nil || !strings.Contains(err.Error(), "--set "+name)):
				t.Errorf("%s --%s: %v", command, name, err)
			case !used && (err == nil || !strings.Contains(err.Error(), s.used.String())):
				t.Errorf("%s --%s: %v, want %s in it", command, name, err, s.used)
			}
			f, cmd := make()
			f.set = []string{name + "=" + other(s, 0)}
			if _, err = f.resolve(cmd); (err == nil) != used {
				t.Errorf("%s --set %s: %v", command, name, err)
			}
			f.run.values = map[string]value{name: {text: other(s, 0)}}
			if got := f.text(name) == other(s, 0); got != used {
				t.Errorf("%s: the value of %s arrives: %t", command, name, got)
			}
		}
	}
}

// TestSections: every key of a section becomes a setting, and what a section leaves open comes from the next one.
func TestSections(t *testing.T) {
	f, err := readSettings(t, `
delay = "3s"
[host."a.example"]
delay = "2s"
per-host = 3
headers = { X-Key = "one", Accept = "text/html" }
cookies = { session = "two" }
username = "crew"
password = "three"
plain-auth = true
user-agent = "other/1"
scope = "prefix"
max-depth = 3
interval = "2h"
min-interval = "3h"
max-interval = "4h"
max-pages = 7
max-bytes = "5MB"
max-time = "1m"
timeout = "9s"
max-body = "2KB"
[domain."b.example"]
delay = "0s"
max-depth = 0
max-pages = 0
max-bytes = "0"
max-time = "0"
[host."x.b.example"]
timeout = "4s"
[prefix."http://x.b.example/a/"]
interval = "1h"
`)
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.run.sections.policy()
	if err != nil {
		t.Fatal(err)
	}
	prefix := policy.ScopePrefix
	all := policy.HostSettings{
		Delay:    2 * time.Second,
		PerHost:  3,
		Header:   []policy.HeaderField{{Name: "Accept", Value: "text/html"}, {Name: "X-Key", Value: "one"}},
		Cookies:  []policy.HeaderField{{Name: "session", Value: "two"}},
		Username: "crew", Password: "three", PlainAuth: true, UserAgent: "other/1", Scope: &prefix,
		MaxDepth: 3, Interval: 2 * time.Hour, MinInterval: 3 * time.Hour, MaxInterval: 4 * time.Hour,
		MaxPages: 7, MaxBytes: 5 << 20, MaxTime: time.Minute,
		Timeout: 9 * time.Second, MaxBody: 2 << 10,
	}
	v := reflect.ValueOf(all)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("the section of this test does not set %s", v.Type().Field(i).Name)
		}
	}
	open := policy.HostSettings{Delay: -1, MaxDepth: -1, MaxPages: -1, MaxBytes: -1, MaxTime: -1}
	slow, often := open, open
	slow.Timeout = 4 * time.Second
	often.Timeout, often.Interval = slow.Timeout, time.Hour
	for url, want := range map[string]*policy.HostSettings{
		"http://a.example/": &all, "http://y.b.example/": &open, "http://b.example/": &open,
		"http://x.b.example/": &slow, "http://x.b.example/a/b": &often, "http://c.example/": nil,
	} {
		u, err := urlkey.Parse(url)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.(policy.URLPolicy).URLSettings(u); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", url, got, want)
		}
	}
}

// TestSectionsOfTwoFiles: a section of --config decides key by key over one of the data directory.
func TestSectionsOfTwoFiles(t *testing.T) {
	dir := t.TempDir()
	own := "[host.\"a\"]\nmax-pages = 1\nmax-depth = 1\n[host.\"b\"]\nmax-pages = 2\n"
	if err := os.WriteFile(filepath.Join(dir, settingsFile), []byte(own), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := readSettings(t, "[host.\"a\"]\nmax-depth = 0", "--dir", dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.run.sections.policy()
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]policy.HostSettings{"a": {MaxPages: 1, MaxDepth: -1}, "b": {MaxPages: 2}} {
		h, err := urlkey.ParseHost(host)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Settings(h); !reflect.DeepEqual(got, &want) {
			t.Errorf("%s: %v, want %v", host, got, want)
		}
	}
}

// TestFaultySections: an error names the file, the section and the key, and never a secret.
func TestFaultySections(t *testing.T) {
	for text, says := range map[string]string{
		`delay = "soon"`:                             `toml:2: [host."a.example"]: delay "soon": want a duration`,
		`max-pages = -1`:                             `[host."a.example"]: max-pages "-1": want a`,
		`max-depth = -1`:                             `[host."a.example"]: max-depth "-1": want a`,
		`max-bytes = "much"`:                         `[host."a.example"]: max-bytes "much": want a size`,
		`max-time = "-1s"`:                           `[host."a.example"]: max-time "-1s": want a duration`,
		`max-body = 0`:                               `[host."a.example"]: max-body "0": want more than 0`,
		`timeout = "0"`:                              `[host."a.example"]: timeout "0": want a duration of more than 0`,
		`scope = "galaxy"`:                           `[host."a.example"]: scope "galaxy": want page, prefix`,
		`headers = { Host = "hunter2" }`:             `toml:1: [host."a.example"]: header "Host" cannot be set`,
		`cookies = { c = "hunter2;" }`:               `[host."a.example"]: cookie "c": byte 8`,
		"username = \"a:b\"\npassword = \"hunter2\"": `[host."a.example"]: username: basic authentication allows`,
		"[prefix.\"http://a/\"]\ndelay = \"1s\"":     `[prefix."http://a/"]: there is no setting "delay"; a section`,
		"[prefix.\"http://A/x\"]\nscope = \"any\"":   `toml:2: [prefix."http://A/x"]: the URLs of the crawl are`,
		"[host.\"http://b/\"]\nscope = \"any\"":      `[host."http://b/"]: that is no host: write [prefix."http://b/"]`,
		"[domain.\"http://b/\"]\nscope = \"any\"":    `that is no domain: write [prefix."http://b/"]`,
		"[prefix.\"b/x\"]\nscope = \"any\"":          `that is no prefix: write [prefix."https://b/x"]`,
		"[prefix.\"b\"]\nscope = \"any\"":            `that is no prefix: write [host."b"]`,
		"[domain.\"a b\"]\nscope = \"any\"":          `toml:2: [domain."a b"]: want HOST`,
		"[host.\"*.c\"]\n[domain.\"c\"]":             `: another section says the same`,
	} {
		f, err := readSettings(t, "[host.\"a.example\"]\n"+text)
		var p policy.HostPolicy
		if err == nil {
			p, err = f.run.sections.policy()
		}
		if err == nil || p != nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v, %v, want %q and no secret in it", p, err, says)
		}
	}
}

// TestRequisiteSuffixes: with requisites, images, scripts and style sheets are admitted, and archives and programs are
// refused as they are without.
func TestRequisiteSuffixes(t *testing.T) {
	accepted := func(name string, set ...string) bool {
		f, cmd := &flags{}, &cobra.Command{Use: "test"}
		f.settings(cmd, inCrawl)
		f.set = set
		o, err := f.options(cmd)
		if err != nil {
			t.Fatal(err)
		}
		u, err := urlkey.Parse("http://a.example/" + name)
		if err != nil {
			t.Fatal(err)
		}
		filters := o.Filters
		if filters == nil {
			filters = policy.DefaultFilters(time.Now())
		}
		return filters.Accept(u) == ""
	}
	for name, shown := range map[string]bool{
		"a.png": true, "a.css": true, "a.js": true, "a.svg": true, "a.woff2": true, "a.mp4": true,
		"a.zip": false, "a.exe": false, "a.iso": false, "a.docx": false, "a.tar.gz": false,
	} {
		if accepted(name) {
			t.Errorf("%s is admitted", name)
		}
		if got := accepted(name, "requisites=true"); got != shown {
			t.Errorf("%s with requisites: %t, want %t", name, got, shown)
		}
	}
}
