// Package openai is the adapter to OpenAI's Chat Completions and to the many servers that speak it, through the
// official library for the request and with a reader of its own for the reply (see package llm).
//
// The same history always makes the same bytes, so request k+1 begins with the messages of request k.
//
// Compatible servers differ in ways that no version number tells, so the adapter keeps a dialect for each Model. It
// begins with what most take, and after a refusal (400 or 422) that names the point it tries the other way once and
// keeps to what worked:
//
//	reasoning     sent back with calls, in the field it came in (reasoning_content, reasoning, reasoning_details), or not
//	usage         asked for with stream_options, or not
//	token limit   max_completion_tokens (OpenAI's own) or max_tokens (others)
//	effort        reasoning_effort, or nothing
package openai
