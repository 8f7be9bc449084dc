// SPDX-License-Identifier: Apache-2.0

// Package language says in which of 75 languages a text is, and how sure that is.
//
// # What it is
//
// Each language has a few thousand groups of one to three letters that are common in it, with weights: how much more
// often than by chance a text in it has them. All are in one table, by group. A text is read once, letter by letter;
// the last letters of a word, packed into a machine word, are the key into the table, and what the table lists is
// added up. The language with the highest sum is the guess (naive Bayes over n-grams: Cavnar and Trenkle, "N-Gram-Based
// Text Categorization", 1994, with probabilities in place of ranks). How far behind the next one is, calibrated over
// 74,000 sentences, is the confidence: of guesses said to be right nine times in ten, nine in ten are.
//
// # Picture
//
//	"die Schlacht …" ──letters──▶ d i e · s c h l a c h t · …
//	                                 "die"  → de  nl  af …      sums   de 3,210
//	                                  "sch" → de  nl …     ──▶         nl 2,100   ──▶ de, 0.99
//	                                                                   af 1,900
//
// # Life
//
// model.bin.gz is made by bench/language out of the n-gram models of lingua (github.com/pemistahl/lingua-go,
// Apache-2.0), which were counted in the Leipzig corpora. It is unpacked at the first use, in 10 ms, and stays.
//
// # Invariants
//
//   - The same text has the same language, whatever was asked before.
//   - Confidence is 0 if and only if there is no guess.
//
// # Who runs it
//
// Any number of goroutines; nothing changes after the first use.
//
// # Bounds
//
// 2 MB of memory. Reading ends when the guess is beyond doubt, within 100 to 300 letters of ordinary text; nothing is
// allocated. Letters beyond the basic plane are no letters here.
//
// # Deliberately absent
//
// Which of several languages a part of a text is in. Bosnian is mostly taken for Croatian and Malay for Indonesian, as
// their sentences may be either, and more is written in the latter.
//
// # Read first
//
// Detect, then readModel.
package language
