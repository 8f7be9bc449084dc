// SPDX-License-Identifier: Apache-2.0

package relevance

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"
)

//go:embed questions.txt
var questionsText string

// Question is a question about Debian's manuals, with the pages that answer it.
type Question struct {
	Language string   // two letters
	Text     string   // as a person types it
	Answers  []string // ends of the URLs of pages that answer it
}

// Questions returns the forty questions, ten in each language.
func Questions() ([]Question, error) { return readQuestions(questionsText) }

// readQuestions reads lines of LANGUAGE, QUESTION and ANSWERS, separated by tabs; answers are separated by blanks. A
// line that begins with # is a comment.
func readQuestions(text string) (list []Question, err error) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 3 || len(f[0]) != 2 || f[1] == "" || len(strings.Fields(f[2])) == 0 {
			return nil, fmt.Errorf("line %d: want a language, a question and answers, separated by tabs", number)
		}
		list = append(list, Question{f[0], f[1], strings.Fields(f[2])})
	}
	return list, nil
}

// Right reports whether a page answers the question.
func (q *Question) Right(url string) bool {
	for _, a := range q.Answers {
		if strings.HasSuffix(url, a) {
			return true
		}
	}
	return false
}

// CheckQuestions reports every answer that is not a page of the tree.
func (t *Tree) CheckQuestions(list []Question) (err error) {
	for _, q := range list {
		for _, a := range q.Answers {
			found := false
			for i := range t.Pages {
				found = found || strings.HasSuffix(t.Pages[i].URL.String(), a)
			}
			if !found {
				err = errors.Join(err, fmt.Errorf("%q: no page ends in %s", q.Text, a))
			}
		}
	}
	return err
}

// QuestionScores says how many questions have a right page among the first three.
type QuestionScores struct {
	Questions, Right, Empty int
	Wrong                   []string // the questions that were not answered, each with the first pages found
}

// RunQuestions sends the questions to an engine, whose identifiers are URLs.
func RunQuestions(search Search, list []Question) (s QuestionScores, err error) {
	for _, q := range list {
		ranked, err := search(q.Text, 3)
		if err != nil {
			return s, fmt.Errorf("question %q: %w", q.Text, err)
		}
		s.Questions++
		if len(ranked) == 0 {
			s.Empty++
		}
		if Rank(ranked, q.Right) > 0 {
			s.Right++
		} else {
			s.Wrong = append(s.Wrong, fmt.Sprintf("%s: %s: %s", q.Language, q.Text, strings.Join(ranked, " ")))
		}
	}
	return s, nil
}
