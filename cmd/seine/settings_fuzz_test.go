// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"
)

// FuzzSettings reads any text as a file of settings with its sections. Either the error names the file, or what the
// file sets, written anew, sets the same.
func FuzzSettings(f *testing.F) {
	for _, text := range []string{
		"", "delay = \"2s\"\nconcurrency = 8\npdf = false\nseeds = [\"a\", \"b\"]\nuser-agent = 'x \\ y'\n",
		"[host.\"a.example\"]\ndelay = \"1s\"\nheaders = { X-Key = \"k\" }\nmax-pages = 3\n",
		"[domain.\"a.example\"]\nscope = \"any\"\n" +
			"[prefix.\"https://a.example/b/\"]\ninterval = \"1h\"\nmax-depth = 2\n",
		"[domain]\n\"*.a.example\" = 1\n", "delay = 1e300\n", "memory = \"99999999999GB\"\n", "host-time = \"-1s\"\n",
		sectionsText, strings.ReplaceAll(sectionsText, "\n# ", "\n"),
	} {
		f.Add(text)
	}
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		var top map[string]any
		if meta, err := toml.Decode(text, &top); err == nil {
			lines := keyLines(text)
			for _, key := range meta.Keys() {
				if lines[key.String()] == 0 {
					t.Errorf("%s has no line", key)
				}
			}
		}
		read, err := settingsOf(t, filepath.Join(folder, "given.toml"), text)
		if err == nil {
			_, err = read.sections.policy()
		}
		if err != nil {
			if !strings.Contains(err.Error(), "given.toml") {
				t.Fatalf("the error does not name the file: %v", err)
			}
			return
		}
		set := map[string]string{}
		for name, v := range read.values {
			if v.from == fromConfig {
				set[name] = v.text
			}
		}
		var again strings.Builder
		if err := toml.NewEncoder(&again).Encode(set); err != nil {
			t.Fatal(err)
		}
		same, err := settingsOf(t, filepath.Join(folder, "again.toml"), again.String())
		if err != nil {
			t.Fatalf("%v in\n%s", err, again.String())
		}
		for name, text := range set {
			if got := same.values[name]; got.text != text || got.from != fromConfig {
				t.Errorf("%s: %q, want %q", name, got.text, text)
			}
		}
	})
}

// settingsOf resolves the settings of a file with this text, for a command with all settings.
func settingsOf(t *testing.T, name, text string) (resolved, error) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	f := &flags{}
	cmd := &cobra.Command{Use: "test"}
	f.settings(cmd, inAll)
	if err := cmd.ParseFlags([]string{"--config", name}); err != nil {
		t.Fatal(err)
	}
	return f.resolve(cmd)
}
