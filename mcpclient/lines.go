package mcpclient

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// lines reads newline-terminated lines of at most max bytes. A longer line is skipped up to its newline, in bounded
// memory.
type lines struct {
	br   *bufio.Reader
	max  int
	long []byte
}

// tooLong describes a line that was skipped: how it began and how it ended.
type tooLong struct {
	size       int
	head, tail []byte
}

func (t *tooLong) Error() string { return "a line is longer than this client reads" }

// edge is how much of a skipped line is kept at either end.
const edge = 4 << 10

func newLines(r io.Reader, limit int) *lines {
	return &lines{br: bufio.NewReaderSize(r, 64<<10), max: limit}
}

// next gives the next line without its newline, valid until the following call. A last line needs no newline. An
// error of type *tooLong concerns one line; any other is the end.
func (l *lines) next() ([]byte, error) {
	if cap(l.long) > 1<<20 {
		l.long = nil
	}
	l.long = l.long[:0]
	for {
		part, err := l.br.ReadSlice('\n')
		switch {
		case err == nil && len(l.long) == 0:
			return part[:len(part)-1], nil
		case err == nil:
			l.long = append(l.long, part...)
			if len(l.long) > l.max+1 {
				return nil, l.skipped(l.long[:len(l.long)-1], len(l.long)-1)
			}
			return l.long[:len(l.long)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
			l.long = append(l.long, part...)
			if len(l.long) > l.max {
				return nil, l.skip()
			}
		default:
			l.long = append(l.long, part...)
			if len(l.long) > 0 && errors.Is(err, io.EOF) {
				return l.long, nil
			}
			return nil, err
		}
	}
}

// skip reads on to the end of a line that is already too long.
func (l *lines) skip() error {
	size := len(l.long)
	head := bytes.Clone(l.long[:edge])
	tail := bytes.Clone(l.long[size-edge:])
	l.long = nil
	for {
		part, err := l.br.ReadSlice('\n')
		size += len(part)
		tail = append(tail, part...)
		if len(tail) > edge {
			tail = append(tail[:0], tail[len(tail)-edge:]...)
		}
		if err == nil {
			return &tooLong{size: size - 1, head: head, tail: bytes.TrimSuffix(tail, []byte("\n"))}
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

func (l *lines) skipped(line []byte, size int) error {
	return &tooLong{size: size, head: bytes.Clone(line[:edge]), tail: bytes.Clone(line[len(line)-edge:])}
}
