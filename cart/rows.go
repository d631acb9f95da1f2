package cart

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
)

// statements are what a book's file is read and written with, on one connection or on any.
type statements struct {
	order, placed, drafts, last *sql.Stmt
	put, drop, key              *sql.Stmt
}

type preparer interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

func prepare(ctx context.Context, p preparer) (*statements, error) {
	s := &statements{}
	for _, row := range []struct {
		to    **sql.Stmt
		query string
	}{
		{&s.order, "SELECT body FROM orders WHERE caller = ? AND handle = ?"},
		{&s.placed, "SELECT handle FROM keys WHERE caller = ? AND key = ?"},
		{&s.drafts, "SELECT caller, handle, body FROM orders WHERE status <> 'placed' AND started < ? ORDER BY started, caller, handle LIMIT ?"},
		{&s.last, "SELECT coalesce(max(number), 0) FROM orders"},
		{&s.put, "INSERT INTO orders (caller, handle, started, status, number, body) VALUES (?, ?, ?, ?, ?, ?) " +
			"ON CONFLICT (caller, handle) DO UPDATE SET started = excluded.started, status = excluded.status, number = excluded.number, body = excluded.body"},
		{&s.drop, "DELETE FROM orders WHERE caller = ? AND handle = ?"},
		{&s.key, "INSERT INTO keys (caller, key, handle) VALUES (?, ?, ?)"},
	} {
		stmt, err := p.PrepareContext(ctx, row.query)
		if err != nil {
			s.close()
			return nil, err
		}
		*row.to = stmt
	}
	return s, nil
}

func (s *statements) close() {
	for _, stmt := range []*sql.Stmt{s.order, s.placed, s.drafts, s.last, s.put, s.drop, s.key} {
		if stmt != nil {
			_ = stmt.Close() // it holds nothing that could be lost
		}
	}
}

// handle answers one message within a transaction: from the part of the orders that it can touch.
func (s *statements) handle(ctx context.Context, t *fileTurn) error {
	store, err := s.load(ctx, t.req.reach(t.env))
	if err != nil {
		return err
	}
	store, t.reply = t.req.handle(store, t.env)
	return s.keep(ctx, store, t.reply.Changed)
}

// load is the part of the orders that r names, as a Store.
func (s *statements) load(ctx context.Context, r reach) (Store, error) {
	found := map[Key]Order{}
	for _, k := range r.orders {
		if err := s.find(ctx, k, found); err != nil {
			return Store{}, err
		}
	}
	for _, k := range r.placed {
		var handle string
		err := s.placed.QueryRowContext(ctx, k.caller, k.key).Scan(&handle)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return Store{}, err
		}
		if err := s.find(ctx, Key{k.caller, handle}, found); err != nil {
			return Store{}, err
		}
	}
	if r.before != 0 {
		if err := s.oldest(ctx, r.before, found); err != nil {
			return Store{}, err
		}
	}
	store := Restore(maps.All(found))
	if r.last {
		var last int64
		if err := s.last.QueryRowContext(ctx).Scan(&last); err != nil {
			return Store{}, err
		}
		store.last = max(store.last, last)
	}
	return store, nil
}

func (s *statements) find(ctx context.Context, k Key, into map[Key]Order) error {
	var body []byte
	err := s.order.QueryRowContext(ctx, k.Caller, k.Handle).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	into[k], err = readOrder(k, body)
	return err
}

func (s *statements) oldest(ctx context.Context, before int64, into map[Key]Order) error {
	rows, err := s.drafts.QueryContext(ctx, before, forgetAtOnce)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var k Key
		var body []byte
		if err := rows.Scan(&k.Caller, &k.Handle, &body); err != nil {
			return err
		}
		if into[k], err = readOrder(k, body); err != nil {
			return err
		}
	}
	return rows.Err()
}

// errDamaged marks a file whose rows are not what the cart writes.
var errDamaged = errors.New("damaged")

func readOrder(k Key, body []byte) (Order, error) {
	var o Order
	if err := json.Unmarshal(body, &o); err != nil {
		return o, fmt.Errorf("%w: order %s of %s: %w", errDamaged, clip(k.Handle), clip(k.Caller), err)
	}
	return o, nil
}

// keep writes the orders that changed: as they are in store, or that they are gone.
func (s *statements) keep(ctx context.Context, store Store, changed []Key) error {
	for _, k := range changed {
		o, there := store.Order(k)
		if !there {
			if _, err := s.drop.ExecContext(ctx, k.Caller, k.Handle); err != nil {
				return err
			}
			continue
		}
		var number any // none until it is placed
		if o.Status == Placed {
			number = o.Number
		}
		if _, err := s.put.ExecContext(ctx, k.Caller, k.Handle, o.StartedAt, string(o.Status), number, text(o)); err != nil {
			return err
		}
		for _, key := range o.Keys {
			if _, err := s.key.ExecContext(ctx, k.Caller, key, k.Handle); err != nil {
				return err
			}
		}
	}
	return nil
}
