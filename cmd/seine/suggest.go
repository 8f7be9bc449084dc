// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// didYouMean names what a misspelled word may stand for, "; did you mean A or B?"; none if nothing is like it.
func didYouMean(word string, words []string, none string) string {
	like := similar(word, words)
	if len(like) == 0 {
		return none
	}
	return "; did you mean " + strings.Join(like, " or ") + "?"
}

// similar are the words that are spelled nearly as word is, or begin with it; or else those that contain it. They are
// at most three.
func similar(word string, words []string) []string {
	of := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, w := range words {
		of.AddCommand(&cobra.Command{Use: w, Run: func(*cobra.Command, []string) {}})
	}
	like := of.SuggestionsFor(word)
	if len(like) == 0 && len(word) > 2 {
		like = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !strings.Contains(w, word) })
	}
	return like[:min(len(like), 3)]
}
