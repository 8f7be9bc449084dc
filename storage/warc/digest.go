// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

// AppendSHA1 appends a SHA-1 sum to dst as WARC files and CDX indexes spell it: "sha1:" and 32 characters of base32.
// All archives and deduplicating indexes use SHA-1. It identifies content here; it is no protection against attackers.
func AppendSHA1(dst []byte, sum [sha1.Size]byte) []byte {
	dst = append(dst, "sha1:"...)
	return base32.StdEncoding.AppendEncode(dst, sum[:])
}

// DigestError says that the bytes of a record do not match a digest in its header.
type DigestError struct {
	File   string
	Offset int64  // of the record
	Field  string // "WARC-Block-Digest" or "WARC-Payload-Digest"
	Want   string // digest in the header
	Got    string // digest of the bytes read, in the same algorithm and spelling
}

func (e *DigestError) Error() string {
	return fmt.Sprintf("record at offset %d of WARC file %q: %s is %s, the bytes give %s",
		e.Offset, e.File, e.Field, e.Want, e.Got)
}

// CheckDigests compares the block and payload digests of the header with the bytes. The first mismatch is returned as
// a *DigestError. It knows md5, sha1, sha256 and sha512, in base32 or hex of either case or in base64. It ignores
// missing digests, those of unknown algorithms, and the payload digest of a revisit record, which is that of another
// record's bytes. A payload digest may include the chunked framing or not: tools differ.
func (r *Record) CheckDigests() error {
	const blockField, payloadField = "WARC-Block-Digest", "WARC-Payload-Digest"
	if want := r.Field(blockField); want != "" {
		if got, ok := redigest(want, r.Block); !ok {
			return &DigestError{r.File, r.Offset, blockField, want, got}
		}
	}
	want := r.Field(payloadField)
	if want == "" || r.Type == TypeRevisit {
		return nil
	}
	stored := r.Block
	if r.isHTTP() {
		_, stored, _ = r.HTTP()
	}
	got, ok := redigest(want, stored)
	if ok {
		return nil
	}
	if plain, err := r.Payload(); err == nil && len(plain) != len(stored) {
		if _, ok := redigest(want, plain); ok {
			return nil
		}
	}
	return &DigestError{r.File, r.Offset, payloadField, want, got}
}

// redigest computes the digest of b in the algorithm and spelling of want. ok is true if they are equal, or if the
// algorithm of want is unknown.
func redigest(want string, b []byte) (got string, ok bool) {
	algorithm, text, found := strings.Cut(want, ":")
	if !found {
		return "", true
	}
	var sum []byte
	switch strings.ToLower(strings.ReplaceAll(algorithm, "-", "")) {
	case "md5":
		s := md5.Sum(b)
		sum = s[:]
	case "sha1":
		s := sha1.Sum(b)
		sum = s[:]
	case "sha256":
		s := sha256.Sum256(b)
		sum = s[:]
	case "sha512":
		s := sha512.Sum512(b)
		sum = s[:]
	default:
		return "", true
	}
	text = strings.TrimRight(strings.TrimSpace(text), "=")
	plain := base32.StdEncoding.WithPadding(base32.NoPadding)
	// The encodings of a sum differ in length, so the length determines the encoding.
	switch len(text) {
	case hex.EncodedLen(len(sum)):
		got = hex.EncodeToString(sum)
		return algorithm + ":" + got, strings.EqualFold(text, got)
	case base64.RawStdEncoding.EncodedLen(len(sum)):
		got = base64.RawStdEncoding.EncodeToString(sum)
		return algorithm + ":" + got, text == got || text == base64.RawURLEncoding.EncodeToString(sum)
	}
	got = plain.EncodeToString(sum)
	return algorithm + ":" + got, strings.EqualFold(text, got)
}
