// SPDX-License-Identifier: Apache-2.0

package web

import (
	_ "embed"
	"fmt"
	"maps"
	"strings"
	"sync"
)

//go:embed abouts.txt
var aboutsText string

// abouts say what properties mean: by component, with those of every component under "*". See abouts.txt.
var abouts = sync.OnceValue(func() map[string]map[string]string {
	all, component := map[string]map[string]string{}, ""
	for n, line := range strings.Split(aboutsText, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '[' && line[len(line)-1] == ']' {
			component = line[1 : len(line)-1]
			all[component] = map[string]string{}
			continue
		}
		property, about, ok := strings.Cut(line, ": ")
		if !ok || all[component] == nil || all[component][property] != "" {
			panic(fmt.Sprintf("abouts.txt:%d: %q", n+1, line)) // the file is part of the program
		}
		all[component][property] = about
	}
	return all
})

// tell adds what abouts say of the properties of a component. A description that a type has itself, such as its unit,
// stays in front.
func tell(component string, properties object) {
	for name, of := range properties {
		about := abouts()[component][name]
		if about == "" {
			about = abouts()["*"][name]
		}
		told := maps.Clone(of.(object)) // the schema of a type is shared
		if unit, _ := told["description"].(string); unit != "" {
			about = unit + "; " + about
		}
		told["description"] = about
		properties[name] = told
	}
}
