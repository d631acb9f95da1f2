package agent

import (
	"context"
	"errors"
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
	// A file that is missing, empty or no text: clients answer in different ways, the disk has the last word.
	data, ownErr := f.own.ReadFile(ctx, name)
	if err == nil && (ownErr != nil || utf8.Valid(data)) {
		return []byte(r.Content), nil //nolint:nilerr // the client read what the disk could not
	}
	return data, ownErr
}

func (f *editorFiles) WriteFile(ctx context.Context, name string, data []byte) error {
	if !f.writes || !utf8.Valid(data) {
		return f.own.WriteFile(ctx, name, data)
	}
	_, err := f.client.WriteTextFile(ctx, &acp.WriteTextFileRequest{SessionID: f.session, Path: name, Content: string(data)})
	if _, ok := errors.AsType[*acp.Error](err); ok {
		return f.own.WriteFile(ctx, name, data)
	}
	return err
}
