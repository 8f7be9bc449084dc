// SPDX-License-Identifier: Apache-2.0

// Command language makes the model of engine/parse/language and measures what comes of it.
//
// # What it is
//
// The model is made out of lingua's n-gram models. What it is measured on are sentences of known languages, a file each
// (de.txt), a sentence a line: lingua's own test data, which its models have not seen, from its crates at crates.io.
//
// # Picture
//
//	go mod download github.com/pemistahl/lingua-go@v1.4.0
//	go run ./bench/language make $(go env GOMODCACHE)/github.com/pemistahl/lingua-go@v1.4.0/language-models engine/parse/language/model.bin.gz
//	bench/language/sentences.sh bench/out/sentences
//	go run ./bench/language measure bench/out/sentences
//
// # Life
//
// It runs to its end; nothing stays but the file that it writes.
//
// # Invariants
//
// The same models give the same file, byte for byte.
//
// # Who runs it
//
// Somebody who wants another model, or to see whether the one that is there is as good as is said.
//
// # Bounds
//
// make takes 20 MB of memory and two seconds, measure a second.
//
// # Deliberately absent
//
// Learning from sentences: they are for measuring.
//
// # Read first
//
// makeModel.
package main
