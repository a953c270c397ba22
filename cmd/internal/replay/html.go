package replay

import "io"

// HTML writes the report as one page that needs nothing else.
func (p *Report) HTML(w io.Writer) error { return nil }
