// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine"
)

const (
	ownSettings = "contact = \"me@example.org\"\nproxy = \"http://u:hunter2@127.0.0.1:1\"\n\n" +
		"[host.\"www.example.org\"]\ndelay = 2\npassword = \"\"\"\nhunter2\"\"\"\ncookies = { a = '''\nhunter2''' }\n"
	changeSaid = "has changed since the last run: "
)

// TestSettingsChange: a change of a value is named once, by the setting and its line, and nothing else is: neither
// comments nor the way in which a value is written. Nothing of a value is said or stored.
func TestSettingsChange(t *testing.T) {
	for name, c := range map[string]struct{ old, new, says string }{
		"value":         {"\"me@", "\"us@", "contact (line 1)"},
		"password":      {"\nhunter2\"", "\nhunter2, and more\"", `[host."www.example.org"] password (line 6)`},
		"cookie":        {"'''\nhunter2", "'''\nhunter2=[more", `[host."www.example.org"] cookies (line 8)`},
		"proxy":         {"u:hunter2", "v:hunter2", "proxy (line 2)"},
		"removed":       {"delay = 2\n", "", `[host."www.example.org"] delay (no longer set)`},
		"added":         {"delay = 2\n", "delay = 2\nper-host = 3\n", `[host."www.example.org"] per-host (line 6)`},
		"renamed":       {"www.", "wwv.", `[host."wwv.example.org"] delay (line 5), `},
		"comment":       {"delay = 2", "delay = 2 # for now", ""},
		"heading":       {".org\"]", ".org\"] # ours", ""},
		"line":          {"\n\n", "\n\n# theirs\n\n", ""},
		"quotes":        {"\"me@example.org\"", "'me@example.org'", ""},
		"whole file":    {ownSettings, "", "contact (no longer set), proxy (no longer set), "},
		"heading moved": {"[host.\"www.example.org\"]\ndelay", "[host]\n[host.'www.example.org']\ndelay", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, settingsFile)
			inject := func(text string) string {
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				status, _, stderr := runLine("inject --dir "+dir+" https://www.example.org/", "")
				if status != exitOK {
					t.Fatalf("status %d, %s", status, stderr)
				}
				return stderr
			}
			inject(ownSettings)
			changed := strings.Replace(ownSettings, c.old, c.new, 1)
			said := inject(changed)
			if want := changeSaid + c.says; c.says != "" && !strings.Contains(said, want) ||
				c.says == "" && said != "" || strings.Contains(said, "hunter2") {
				t.Errorf("%q, want %q", said, want)
			}
			if again := inject(changed); again != "" {
				t.Errorf("again %q", again)
			}
			storeHasNot(t, filepath.Join(dir, "store"), "hunter2")
		})
	}
}

// TestSettingsOfOlderVersion: what an older version remembered, which could be parts of values, is replaced, and
// nothing is compared with it.
func TestSettingsOfOlderVersion(t *testing.T) {
	dir := t.TempDir()
	line := "inject --dir " + dir + " https://www.example.org/"
	if status, _, stderr := runLine(line, ""); status != exitOK {
		t.Fatal(stderr)
	}
	remembered := func(then func(e *engine.Engine, text string) error) {
		t.Helper()
		if err := withOptions(engine.Options{Dir: dir}, func(e *engine.Engine) error {
			text, _, err := e.Remembered(rememberedFile)
			if err != nil {
				return err
			}
			return then(e, text)
		}); err != nil {
			t.Fatal(err)
		}
	}
	remembered(func(e *engine.Engine, _ string) error {
		return e.Remember(map[string]string{rememberedFile: "0123456789abcdef hunter2\"\"\"\n"})
	})
	if status, _, stderr := runLine(line, ""); status != exitOK || stderr != "" {
		t.Errorf("status %d, %q", status, stderr)
	}
	remembered(func(_ *engine.Engine, text string) error {
		if text != rememberedForm {
			t.Errorf("remembered: %q", text)
		}
		return nil
	})
}

// storeHasNot fails the test if a file below a folder has a text.
func storeHasNot(t *testing.T, folder, text string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), text) {
			t.Errorf("%s has %q", path, text)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files: %v", files, err)
	}
}
