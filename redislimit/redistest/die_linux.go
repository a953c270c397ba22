package redistest

import "syscall"

// dieWithParent makes a process end when this one does, even if that is killed.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
