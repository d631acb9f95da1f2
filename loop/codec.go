package loop

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// EncodeInput gives the name of an input's kind and its body as JSON, as logs and transcripts hold them.
func EncodeInput(in Input) (kind string, body json.RawMessage, err error) {
	switch v := in.(type) {
	case Configured:
		kind = "Configured"
	case Chosen:
		kind = "Chosen"
	case Prompted:
		kind = "Prompted"
	case Noted:
		kind = "Noted"
	case Revoked:
		kind = "Revoked"
	case Streamed:
		kind = "Streamed"
	case Replied:
		kind = "Replied"
	case ModelFailed:
		kind = "ModelFailed"
	case Previewed:
		kind = "Previewed"
	case Decided:
		kind = "Decided"
	case Intended:
		kind = "Intended"
	case Checked:
		kind = "Checked"
	case Asked:
		kind = "Asked"
	case Answered:
		kind = "Answered"
	case Progressed:
		kind = "Progressed"
	case Finished:
		kind = "Finished"
	case Compacting:
		kind = "Compacting"
	case Compacted:
		kind = "Compacted"
	case Cancelled:
		kind = "Cancelled"
	case Interrupted:
		kind = "Interrupted"
	case Unknown:
		return v.Kind, v.Body, nil
	default:
		return "", nil, fmt.Errorf("encoding an input: %T has no kind", in)
	}
	body, err = encodeBody(in)
	if err != nil {
		return "", nil, fmt.Errorf("encoding a %s input: %w", kind, err)
	}
	return kind, body, nil
}

// encodeBody writes JSON as people read it, with < and > as they are.
func encodeBody(in any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(in); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// DecodeInput reads what EncodeInput wrote. An input of a kind that this build does not know becomes an Unknown, and
// fields that it does not know are ignored; a body that does not fit its kind is an error.
func DecodeInput(kind string, body json.RawMessage) (Input, error) {
	switch kind {
	case "Configured":
		return decodeInput[Configured](kind, body)
	case "Chosen":
		return decodeInput[Chosen](kind, body)
	case "Prompted":
		return decodeInput[Prompted](kind, body)
	case "Noted":
		return decodeInput[Noted](kind, body)
	case "Revoked":
		return decodeInput[Revoked](kind, body)
	case "Streamed":
		return decodeInput[Streamed](kind, body)
	case "Replied":
		return decodeInput[Replied](kind, body)
	case "ModelFailed":
		return decodeInput[ModelFailed](kind, body)
	case "Previewed":
		return decodeInput[Previewed](kind, body)
	case "Decided":
		return decodeInput[Decided](kind, body)
	case "Intended":
		return decodeInput[Intended](kind, body)
	case "Checked":
		return decodeInput[Checked](kind, body)
	case "Asked":
		return decodeInput[Asked](kind, body)
	case "Answered":
		return decodeInput[Answered](kind, body)
	case "Progressed":
		return decodeInput[Progressed](kind, body)
	case "Finished":
		return decodeInput[Finished](kind, body)
	case "Compacting":
		return decodeInput[Compacting](kind, body)
	case "Compacted":
		return decodeInput[Compacted](kind, body)
	case "Cancelled":
		return decodeInput[Cancelled](kind, body)
	case "Interrupted":
		return decodeInput[Interrupted](kind, body)
	}
	return Unknown{Kind: kind, Body: bytes.Clone(body)}, nil
}

func decodeInput[T Input](kind string, body json.RawMessage) (Input, error) {
	var v T
	if err := json.Unmarshal(body, &v); err != nil {
		return nil, fmt.Errorf("decoding a %s input: %w", kind, err)
	}
	return v, nil
}
