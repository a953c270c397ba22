package rules

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxFile is the size of a rule file at most, in bytes: a hundred thousand rules fit.
const maxFile = 64 << 20

// snapshot is a file at one moment. Two that are equal show the same file with the same content.
type snapshot struct {
	path string // behind all links
	size int64
	time int64 // of the last change, Unix ns
	hash [sha256.Size]byte
}

// look reads a file. The error begins with the path.
func look(path string) (snapshot, []byte, error) {
	now, data, err := lookBehind(path)
	var known *fs.PathError // its text has the path, too
	if errors.As(err, &known) {
		err = known.Err
	}
	if err != nil {
		return snapshot{}, nil, fmt.Errorf("%s: %w", path, err)
	}
	return now, data, nil
}

func lookBehind(path string) (snapshot, []byte, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return snapshot{}, nil, err
	}
	info, err := os.Stat(resolved)
	switch {
	case err != nil:
		return snapshot{}, nil, err
	case !info.Mode().IsRegular(): // opening a pipe would wait for its writer
		return snapshot{}, nil, fmt.Errorf("%w: not a regular file", ErrValue)
	}
	file, err := os.Open(resolved)
	if err != nil {
		return snapshot{}, nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return snapshot{}, nil, err
	}
	if len(data) > maxFile {
		return snapshot{}, nil, fmt.Errorf("%w: larger than %d MB", ErrValue, maxFile>>20)
	}
	return snapshot{resolved, info.Size(), info.ModTime().UnixNano(), sha256.Sum256(data)}, data, nil
}
