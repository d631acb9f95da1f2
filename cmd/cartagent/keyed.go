package main

import (
	"context"
	"errors"
	"iter"
	"maps"
	"strings"
	"sync"

	"github.com/cartagent/cartagent/loop"
	"github.com/charmbracelet/log"
)

// keyring holds the keys in force. Those that another process stores or forgets count from the next look on.
type keyring struct {
	file keyFile
	env  map[string]credentials
	log  *log.Logger

	mu   sync.Mutex
	keys map[string]credentials
}

func newKeyring(cfg *config, logger *log.Logger) *keyring {
	return &keyring{file: cfg.keyFile(), env: cfg.envKeys, log: logger, keys: cfg.keys}
}

// now are the keys in force, by provider. If the stored ones cannot be read, those of before stay.
func (r *keyring) now() map[string]credentials {
	r.mu.Lock()
	defer r.mu.Unlock()
	stored, note, err := r.file.read()
	if err != nil {
		r.log.Warn("reading the stored keys again", "err", err)
		return maps.Clone(r.keys)
	}
	if note != "" {
		r.log.Warn("stored keys", "note", note)
	}
	r.keys = inForce(r.env, stored)
	return maps.Clone(r.keys)
}

// keyed is a model of a provider, with whatever key is in force when it is asked.
type keyed struct {
	ring     *keyring
	provider provider
	make     func(credentials) (loop.Model, error)

	mu   sync.Mutex
	made madeModel
}

type madeModel struct {
	model loop.Model
	with  credentials
}

// current is the model with the key that is in force now. Its error, a *loop.Failure, says what is missing.
func (k *keyed) current() (madeModel, error) {
	with := k.ring.now()[k.provider.id]
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.made.model != nil && k.made.with == with {
		return k.made, nil
	}
	k.made = madeModel{}
	model, err := k.make(with)
	if err != nil {
		return madeModel{}, advise(err, k.provider, with)
	}
	k.made = madeModel{model, with}
	return k.made, nil
}

// Stream implements loop.Model. A refused key is read again first: the person may have replaced it meanwhile.
func (k *keyed) Stream(ctx context.Context, r loop.Request) iter.Seq2[loop.Chunk, error] {
	return func(yield func(loop.Chunk, error) bool) {
		made, err := k.current()
		if err != nil {
			yield(loop.Chunk{}, err)
			return
		}
		renewed := false
		for c, err := range made.model.Stream(ctx, r) {
			if next, ok := k.renewed(err, made); ok {
				made, renewed = next, true
				break
			}
			if !yield(c, advise(err, k.provider, made.with)) {
				return
			}
		}
		if !renewed {
			return
		}
		for c, err := range made.model.Stream(ctx, r) {
			if !yield(c, advise(err, k.provider, made.with)) {
				return
			}
		}
	}
}

// renewed is the model with another key, where there is one by now and the error is that the key is refused. A provider
// says that before anything else.
func (k *keyed) renewed(err error, made madeModel) (madeModel, bool) {
	if !isAuth(err) {
		return madeModel{}, false
	}
	next, err := k.current()
	return next, err == nil && next.with != made.with
}

func isAuth(err error) bool {
	var failure *loop.Failure
	return errors.As(err, &failure) && failure.Kind == loop.FailAuth
}

// advise names the stored key and the login in a failure of the key: adapters know of the environment only.
func advise(err error, p provider, with credentials) error {
	if !isAuth(err) {
		return err
	}
	message := strings.ReplaceAll(err.Error(), ": set "+p.keyVar, ": run `cartagent login`, or set "+p.keyVar)
	if with.stored {
		message = strings.NewReplacer(
			"the key in "+p.keyVar, "the stored key", "The key in "+p.keyVar, "The stored key",
			"set one that is valid", "run `cartagent login`", "set it anew", "run `cartagent login`",
		).Replace(message)
	}
	return &loop.Failure{Kind: loop.FailAuth, Message: message}
}
