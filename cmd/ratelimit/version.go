package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say which version this is",
		Args:  noArgs,
		Run: func(command *cobra.Command, _ []string) {
			_, _ = fmt.Fprintln(command.OutOrStdout(), "ratelimit", version(), runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH)
		},
	}
}

// version returns the version of the module, or of the commit that this was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	if revision == "" {
		return "devel"
	}
	return "devel-" + revision[:min(len(revision), 12)] + dirty
}
