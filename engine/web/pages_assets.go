// SPDX-License-Identifier: Apache-2.0

package web

import (
	"embed"
	"encoding/hex"
	"hash/fnv"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
)

//go:embed assets
var assets embed.FS

// templates has each page by its name: its own file inside the frame of layout.html.
var templates = parseTemplates()

func parseTemplates() map[string]*template.Template {
	frame := template.Must(template.New("").Funcs(functions).ParseFS(assets, "assets/templates/layout.html"))
	list, err := fs.Glob(assets, "assets/templates/*.html")
	if err != nil {
		panic(err)
	}
	pages := map[string]*template.Template{}
	for _, file := range list {
		t := template.Must(frame.Clone())
		pages[strings.TrimSuffix(path.Base(file), ".html")] = template.Must(t.ParseFS(assets, file))
	}
	return pages
}

// assetsVersion is a hash of the static assets. It stands in their addresses, so browsers may keep them for ever, and
// a newer program has others.
var assetsVersion = hashAssets()

func hashAssets() string {
	hash := fnv.New64a()
	err := fs.WalkDir(assets, "assets/static", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := assets.ReadFile(path)
		hash.Write([]byte(path))
		hash.Write(b)
		return err
	})
	if err != nil {
		panic(err)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// static sends an asset. An address with another version gets the present one, which it may not keep.
func (h *Handler) static(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	b, err := assets.ReadFile("assets/static/" + name)
	if err != nil {
		h.noPage(w, r)
		return
	}
	keep := "public, max-age=31536000, immutable"
	if r.PathValue("version") != assetsVersion {
		keep = "no-store"
	}
	w.Header().Set("Cache-Control", keep)
	w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	_, _ = w.Write(b) // the client went away
}
