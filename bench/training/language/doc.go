// SPDX-License-Identifier: Apache-2.0

// Command language makes the model of engine/parse/language and measures it.
//
// # What it is
//
// The model is made from lingua's n-gram models. It is measured on sentences of known languages, a file for each
// (de.txt) with a sentence a line: lingua's own test data, which its models have not seen, from its crates at
// crates.io.
//
// # Picture
//
//	go mod download github.com/pemistahl/lingua-go@v1.4.0
//	lingua=$(go env GOMODCACHE)/github.com/pemistahl/lingua-go@v1.4.0
//	go run ./bench/training/language make $lingua/language-models engine/parse/language/model.bin.gz
//	bench/training/language/sentences.sh bench/out/sentences
//	go run ./bench/training/language measure bench/out/sentences
//
// # Life
//
// It runs to its end and leaves only the file that it writes.
//
// # Invariants
//
// The same models give the same file, byte for byte.
//
// # Who runs it
//
// People who want another model, or want to check the figures of the present one.
//
// # Bounds
//
// make takes 20 MB of memory and two seconds, measure a second.
//
// # Deliberately absent
//
// Training on sentences: they are for measuring.
//
// # Read first
//
// makeModel.
package main
