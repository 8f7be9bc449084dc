// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInitSecrets: nobody else can read a settings file with a password or key, which "seine init" wrote; others can.
func TestInitSecrets(t *testing.T) {
	for setting, secret := range map[string]bool{
		"index-login=me:word":                            true,
		"index-api-key=abc":                              true,
		"proxy=http://me:word@127.0.0.1:3128":            true,
		"index-to=solr=https://me:word@a.example/solr/x": true,
		"proxy=http://127.0.0.1:3128":                    false,
		"index-to=solr=https://a.example/solr/x":         false,
		"host-pages=9":                                   false,
	} {
		dir := filepath.Join(t.TempDir(), "data")
		var out bytes.Buffer
		args := []string{"init", "--dir", dir, "--set", setting}
		if status := run(args, strings.NewReader(""), io.Discard, &out); status != 0 {
			t.Fatal(out.String())
		}
		info, err := os.Stat(filepath.Join(dir, settingsFile))
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); (mode&0o077 == 0) != secret {
			t.Errorf("%s: the mode is %v", setting, mode)
		}
	}
}

// TestInitNumbers: a number that TOML spells otherwise is not written as one: the next command reads the file.
func TestInitNumbers(t *testing.T) {
	for _, setting := range []string{
		"host-pages=007", "host-pages=+5", "score-internal=.5", "score-internal=5.", "score-internal=0x1p-2",
		"score-internal=1e3", "seed-score=0.25",
	} {
		dir := filepath.Join(t.TempDir(), "data")
		for _, args := range [][]string{{"init", "--dir", dir, "--set", setting}, {"config", "--dir", dir}} {
			var out bytes.Buffer
			if status := run(args, strings.NewReader(""), io.Discard, &out); status != 0 {
				t.Errorf("%s: %s: %s", setting, args[0], out.String())
			}
		}
	}
}

// TestInitWritable: init writes no value that a settings file cannot have.
func TestInitWritable(t *testing.T) {
	for _, args := range [][]string{
		{"--seeds", "-"}, {"--set", "deny-hosts=caf\xe9.txt"}, {"--set", "deny-hosts=a\x01.txt"},
	} {
		t.Chdir(t.TempDir())
		for _, name := range []string{"caf\xe9.txt", "a\x01.txt"} {
			if err := os.WriteFile(name, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		var out bytes.Buffer
		status := run(append([]string{"init", "--dir", "d"}, args...), strings.NewReader(""), io.Discard, &out)
		if status != exitUsage || !strings.Contains(out.String(), "a settings file ") {
			t.Errorf("%q: status %d, %s", args, status, out.String())
		}
		if _, err := os.Stat("d"); err == nil {
			t.Errorf("%q: it made a directory", args)
		}
	}
}

// TestSeedFileNames: a file of seeds may have a sign in its name that other settings take for one of their own, and
// "seine config" fails where a file of seeds is missing, as the crawl would.
func TestSeedFileNames(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, settingsFile), []byte("seeds = \"a=b.txt\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	config := func() (status int, text string) {
		var out bytes.Buffer
		status = run([]string{"config", "--dir", dir}, strings.NewReader(""), &out, &out)
		return status, out.String()
	}
	if status, text := config(); status != exitUsage || !strings.Contains(text, "there is no file "+dir+"/a=b.txt") {
		t.Errorf("status %d, %s", status, text)
	}
	if err := os.WriteFile(filepath.Join(dir, "a=b.txt"), []byte("https://a.example/\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if status, text := config(); status != exitOK {
		t.Errorf("status %d, %s", status, text)
	}
}
