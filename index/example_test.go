// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"context"
	"fmt"
	"log"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Example is an index without a crawler: documents go in, in the order of their keys, and are found.
func Example() {
	fs := storage.NewMemFS() // without it, "shop" is a directory on the disk
	store, err := storage.Open("shop", storage.Options{FS: fs})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	x, err := index.Open(store, index.Options{FS: fs})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close() // before the store

	if err := fill(store, x); err != nil {
		log.Fatal(err)
	}
	found, err := x.Search(context.Background(), "mesh price:<10", index.SearchOptions{Facets: []string{"color"}})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range found.Hits {
		u, err := hit.Key.URL()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(u, x.Snippet(found.Query, hit.ShowText).Mark("[", "]"))
	}
	fmt.Println(found.Total, "of", x.Stats().Documents, found.Facets[0].Values)
	// Output:
	// http://shop.example/needle A needle to mend a torn [mesh].
	// 1 of 2 [{red 1}]
}

// fill indexes documents. A later version of one, under the same key, would take its place.
func fill(store *storage.Store, x *index.Index) error {
	in := store.NewIngestion()
	defer in.Abort() // does nothing after Commit
	b := x.NewBuilder(in)
	defer b.Abort()
	for _, d := range []index.Document{
		{URL: "http://shop.example/needle", Text: "A needle to mend a torn mesh.", Stored: []storage.Field{
			{Name: "color", Value: "red"}, {Name: "price", Value: "2.50"},
		}},
		{URL: "http://shop.example/net", Text: "A net of fine mesh.", Stored: []storage.Field{
			{Name: "price", Value: "30"},
		}},
	} {
		u, err := urlkey.Parse(d.URL)
		if err != nil {
			return err
		}
		d.Key, d.Language = u.Key(), "en"
		d.ShowText = d.Text // a text that is not shown need not be in the index
		if err := b.Add(&d); err != nil {
			return err
		}
	}
	if _, err := b.Finish(); err != nil {
		return err
	}
	if err := in.Commit(); err != nil {
		return err
	}
	return x.Refresh()
}
