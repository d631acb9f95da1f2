package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"unicode/utf8"

	"github.com/cartagent/cartagent/acp"
)

// clientFiles puts the client's files before our own, as far as it offers them.
func clientFiles(client *acp.ClientConn, id acp.SessionID, own Files) Files {
	offered := client.Capabilities().FS
	if !offered.ReadTextFile && !offered.WriteTextFile {
		return own
	}
	return &editorFiles{client: client, session: id, own: own, reads: offered.ReadTextFile, writes: offered.WriteTextFile}
}

// editorFiles reads what the editor shows, unsaved changes included, and writes so that the editor's review sees it.
// Where the editor cannot, our own disk serves.
type editorFiles struct {
	client        *acp.ClientConn
	session       acp.SessionID
	own           Files
	reads, writes bool
}

func (f *editorFiles) ReadFile(ctx context.Context, name string) ([]byte, error) {
	if !f.reads {
		return f.own.ReadFile(ctx, name)
	}
	r, err := f.client.ReadTextFile(ctx, &acp.ReadTextFileRequest{SessionID: f.session, Path: name})
	switch {
	case err == nil && r.Content != "":
		return []byte(r.Content), nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	// Of a file that is missing, empty or no text, or that is none of the editor's, the disk knows more.
	data, ownErr := f.own.ReadFile(ctx, name)
	switch {
	case err == nil && errors.Is(ownErr, fs.ErrNotExist): // some editors say of a file that is not there that it is empty
		return nil, ownErr
	case err == nil && (ownErr != nil || utf8.Valid(data)):
		return []byte(r.Content), nil //nolint:nilerr // the client read what the disk could not
	case err == nil, ownErr != nil, !utf8.Valid(data), unable(err):
		return data, ownErr
	}
	return nil, fmt.Errorf("the editor does not give %s: %w", name, err)
}

// unable says whether the client has said that it cannot do that, or knows no such file. Any other error is a refusal.
func unable(err error) bool {
	return errors.Is(err, acp.ErrMethodNotFound) || errors.Is(err, acp.ErrNotFound)
}

// WriteFile writes in the editor. What the editor refuses is not written in another way.
func (f *editorFiles) WriteFile(ctx context.Context, name string, data []byte) error {
	if !f.writes || !utf8.Valid(data) {
		return f.own.WriteFile(ctx, name, data)
	}
	_, err := f.client.WriteTextFile(ctx, &acp.WriteTextFileRequest{SessionID: f.session, Path: name, Content: string(data)})
	refusal, answered := errors.AsType[*acp.Error](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, acp.ErrMethodNotFound):
		return f.own.WriteFile(ctx, name, data)
	case answered:
		return fmt.Errorf("the editor did not write %s: %w", name, refusal)
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	}
	return fmt.Errorf("the editor did not say whether it wrote %s, so it may be changed: read it before writing again: %w", name, err)
}
