// SPDX-License-Identifier: Apache-2.0

package web

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// tokenFile is the name of the file of a data directory that has the token.
const tokenFile = "token"

// Token returns the token of a data directory: that of its file, or a new one, which is written there for its owner
// alone (mode 0600). Of processes that make one at once, all get the same.
func Token(dir string) (string, error) {
	name := filepath.Join(dir, tokenFile)
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("reading the token: %w", err)
	}
	if token := strings.TrimSpace(string(text)); token != "" {
		return token, ownerOnly(name)
	}
	token := rand.Text()
	file, err := os.CreateTemp(dir, tokenFile+"-*") // with mode 0600
	if err != nil {
		return "", fmt.Errorf("making a token: %w", err)
	}
	_, err = file.WriteString(token + "\n")
	if err = errors.Join(err, file.Close()); err == nil && text == nil {
		err = os.Link(file.Name(), name) // unless another process was faster
	} else if err == nil { // the file is empty: whoever wrote it did not finish
		err = os.Rename(file.Name(), name)
	}
	if removed := os.Remove(file.Name()); !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	if errors.Is(err, fs.ErrExist) {
		return Token(dir)
	}
	if err != nil {
		return "", fmt.Errorf("making a token: %w", err)
	}
	return token, nil
}

// ownerOnly returns an error if other users may read a file.
func ownerOnly(name string) error {
	info, err := os.Stat(name)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = fmt.Errorf("others may read %s: remove it, and a new token is made, or give it mode 0600", name)
	}
	return err
}
