package settings

import (
	"fmt"
	"os"
	"strings"
)

// minToken is the shortest token that is accepted, in bytes: shorter ones are guessed.
const minToken = 16

// ReadToken reads the token of the admin address from a file, without the spaces around it.
func ReadToken(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if len(token) < minToken || strings.ContainsAny(token, " \t\r\n") {
		return "", fmt.Errorf("%s: want one word of at least %d bytes, such as openssl rand -hex 16 gives", path, minToken)
	}
	return token, nil
}
