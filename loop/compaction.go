package loop

import (
	"fmt"
	"slices"
)

func (m *machine) compacting(v Compacting) {
	if m.s.phase != idle {
		return
	}
	m.s.phase = summarizing
	m.s.compactions++
	for _, b := range v.Content {
		m.emit(UserText{MessageID: v.MessageID, Part: b})
	}
	m.emit(CompactionStarted{ID: m.compactionID()})
}

func (m *machine) compactionID() string { return fmt.Sprintf("compaction_%d", m.s.compactions) }

// compacted never parts calls from their results: it keeps more rather than less. Where there is nothing to replace it
// changes nothing, and a compaction that was begun has failed. Logs from before Compacting have it alone, untold.
func (m *machine) compacted(v Compacted) {
	begun := m.s.phase == summarizing
	if !begun && m.s.phase != idle {
		return
	}
	if !m.replace(v) {
		if begun {
			m.endCompaction(CompactionFailed)
		}
		return
	}
	if begun {
		m.emit(CompactionSummary{ID: m.compactionID(), Text: v.Summary})
		m.endCompaction(CompactionCompleted)
	}
}

// replace puts the summary where the history was, and says whether there was any to replace.
func (m *machine) replace(v Compacted) bool {
	if v.Keep < 0 || v.Keep >= len(m.s.history) {
		return false
	}
	cut := len(m.s.history) - v.Keep
	for cut < len(m.s.history) && cut > 0 && m.s.history[cut].Role == RoleTool {
		cut--
	}
	if cut == 0 {
		return false
	}
	summary := Message{Role: RoleUser, Content: slices.Concat(v.Context, Blocks{Text{Text: v.Summary}})}
	m.s.history = append([]Message{summary}, m.s.history[cut:]...)
	return true
}

func (m *machine) endCompaction(status CompactionStatus) {
	m.s.phase = idle
	m.emit(CompactionFinished{ID: m.compactionID(), Status: status})
}
