package mcpclient

import (
	"encoding/json"
	"time"

	"github.com/charmbracelet/log"
)

const methodMessage = "notifications/message"

// How much of what a server has to log is logged.
const (
	maxSaid     = 10  // a second
	maxSaidText = 500 // bytes of each
)

// saying counts what a server has to log.
type saying struct {
	since      time.Time
	said, left int
}

// noticed handles a notification that the SDK has no part in, and says whether it was one.
func (c *conn) noticed(method string, params json.RawMessage) bool {
	switch method {
	case methodProgress:
		c.progressed(params)
	case methodMessage:
		c.say(params)
	case methodElicited:
		c.elicited(params)
	default:
		return false
	}
	return true
}

// say logs what a server has to log: for who looks for a fault, and for nobody else.
func (c *conn) say(params json.RawMessage) {
	if c.log.GetLevel() > log.DebugLevel {
		return
	}
	var p struct {
		Level  string          `json:"level"`
		Logger string          `json:"logger"`
		Data   json.RawMessage `json:"data"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.saying.since) >= time.Second {
		if c.saying.left > 0 {
			c.log.Debug("server messages left out", "server", c.name, "messages", c.saying.left)
		}
		c.saying = saying{since: now}
	}
	if c.saying.said++; c.saying.said > maxSaid {
		c.saying.left++
		return
	}
	text := string(p.Data)
	var plain string
	if json.Unmarshal(p.Data, &plain) == nil {
		text = plain
	}
	c.log.Debug("server message", "server", c.name, "level", printable(p.Level, 20), "logger", printable(p.Logger, 60),
		"message", printable(c.conceal(text), maxSaidText))
}
