// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// readSettings runs readConfig on a TOML text, for a command with all settings and the given arguments.
func readSettings(t *testing.T, text string, args ...string) (*flags, error) {
	t.Helper()
	f := &flags{}
	cmd := &cobra.Command{Use: "test"}
	f.crawling(cmd)
	path := filepath.Join(t.TempDir(), "seine.toml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := cmd.ParseFlags(append(args, "--config", path)); err != nil {
		t.Fatal(err)
	}
	return f, f.readConfig(cmd)
}

// TestEverySettingFromFile: each setting of the file arrives, unless the command line has it too.
func TestEverySettingFromFile(t *testing.T) {
	var file strings.Builder
	var args []string
	var want, onCommandLine settings
	w, c := reflect.ValueOf(&want).Elem(), reflect.ValueOf(&onCommandLine).Elem()
	for i := range w.NumField() {
		name := w.Type().Field(i).Tag.Get("toml")
		if settingHelp[name] == "" {
			t.Errorf("%s has no help", name)
		}
		switch w.Field(i).Kind() {
		case reflect.String:
			w.Field(i).SetString("file " + name)
			c.Field(i).SetString("flag " + name)
		case reflect.Int:
			w.Field(i).SetInt(int64(100 + i))
			c.Field(i).SetInt(int64(200 + i))
		case reflect.Bool:
			def := reflect.ValueOf(defaults()).Field(i).Bool()
			w.Field(i).SetBool(!def)
			c.Field(i).SetBool(def)
		default:
			t.Fatalf("%s: add its kind to this test and to flags.add", name)
		}
		fmt.Fprintf(&file, "%s = %#v\n", name, w.Field(i).Interface())
		args = append(args, fmt.Sprintf("--%s=%v", name, c.Field(i).Interface()))
	}
	if n := len(settingHelp); n != w.NumField() {
		t.Errorf("%d settings, %d help texts", w.NumField(), n)
	}
	f, err := readSettings(t, file.String())
	if err != nil || f.s != want {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, f.s, want)
	}
	f, err = readSettings(t, file.String(), args...)
	if err != nil || f.s != onCommandLine {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, f.s, onCommandLine)
	}
	f, err = readSettings(t, "")
	if err != nil || f.s != defaults() || f.hosts != nil {
		t.Errorf("%v\ngot  %+v\nwant the defaults", err, f.s)
	}
}

// TestFaultySettings: an error names the file, the section and the key.
func TestFaultySettings(t *testing.T) {
	for text, says := range map[string]string{
		"dealy = \"2s\"":                               `there is no setting "dealy"`,
		"Delay = \"2s\"":                               `there is no setting "Delay"`, // toml itself would accept it
		"[delay]\nx = 1":                               "delay",
		"concurrency = \"many\"":                       "concurrency",
		"host = 1":                                     "host: want sections such as",
		"delay = ":                                     "line 1",
		"[host.\"a.example\"]\ndealy = \"2s\"":         `[host."a.example"]: there is no setting "dealy"; a host has`,
		"[host.\"a.example\"]\nscope=1":                `host.\"a.example\".scope`,
		"[host.\"a.example\".headers]\nX-Key = 1":      `host.\"a.example\".headers.X-Key`,
		"[[host.\"a.example\"]]\ndelay = \"1s\"":       `host.\"a.example\"`,
		"[host]\n\"a.example\" = \"2s\"":               `host.\"a.example\"`,
		"[host.\"a.example\"]\nheaders = \"X: y\"":     `[host."a.example"]: headers: want names and values`,
		"[host.\"a.example\".limits]\nmax-pages = 100": `[host."a.example"]: there is no setting "limits"`,
	} {
		f, err := readSettings(t, text)
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), f.config) {
			t.Errorf("%q: %v, want %q and the name of the file in it", text, err, says)
		}
	}
}

// TestHostSections: every key of a section becomes a setting of the host.
func TestHostSections(t *testing.T) {
	f, err := readSettings(t, `
delay = "3s"
[host."a.example"]
delay = "2s"
headers = { X-Key = "one", Accept = "text/html" }
cookies = { session = "two" }
username = "crew"
password = "three"
plain-auth = true
scope = "prefix"
max-pages = 7
max-bytes = "5MB"
max-time = "1m"
[host."*.b.example"]
delay = "0s"
`)
	if err != nil {
		t.Fatal(err)
	}
	p, err := hostPolicy(f.hosts)
	if err != nil {
		t.Fatal(err)
	}
	prefix := policy.ScopePrefix
	all := policy.HostSettings{
		Delay:    2 * time.Second,
		Header:   []policy.HeaderField{{Name: "Accept", Value: "text/html"}, {Name: "X-Key", Value: "one"}},
		Cookies:  []policy.HeaderField{{Name: "session", Value: "two"}},
		Username: "crew", Password: "three", PlainAuth: true, Scope: &prefix,
		MaxPages: 7, MaxBytes: 5 << 20, MaxTime: time.Minute,
	}
	v := reflect.ValueOf(all)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("the section of this test does not set %s", v.Type().Field(i).Name)
		}
	}
	for host, want := range map[string]*policy.HostSettings{
		"a.example": &all, "x.b.example": {Delay: -1}, "c.example": nil,
	} {
		h, err := urlkey.ParseHost(host)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Settings(h); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", host, got, want)
		}
	}
}

// TestFaultyHostSections: an error names the section and the key, and never a secret.
func TestFaultyHostSections(t *testing.T) {
	for says, s := range map[string]hostSection{
		`[host."a.example"]: delay "soon": want a duration`:       {Delay: "soon"},
		`[host."a.example"]: max-pages -1: want 0`:                {MaxPages: -1},
		`[host."a.example"]: max-bytes "much": want a size`:       {MaxBytes: "much"},
		`[host."a.example"]: max-time "-1s": want a duration`:     {MaxTime: "-1s"},
		`[host."a.example"]: scope "galaxy": want page, prefix`:   {Scope: "galaxy"},
		`host "a.example": Header "Host" cannot be set`:           {Headers: map[string]string{"Host": "hunter2"}},
		`host "a.example": Cookies "c": byte 8`:                   {Cookies: map[string]string{"c": "hunter2;"}},
		`host "a.example": Username: basic authentication allows`: {Username: "a:b", Password: "hunter2"},
	} {
		_, err := hostPolicy(map[string]hostSection{"a.example": s})
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v, want %q and no secret in it", err, says)
		}
	}
	if p, err := hostPolicy(map[string]hostSection{"a b": {}}); err == nil || p != nil {
		t.Errorf("%v, %v: want a nil interface and an error", p, err)
	}
}
