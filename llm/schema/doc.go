// Package schema makes of a tool's JSON Schema one that a provider takes.
//
// Servers write any JSON Schema, of any draft, with faults in it too. Providers take less, and refuse a whole request,
// and with it every prompt of the session, for one schema that they do not like. Normalize is pure, total and bounded:
// whatever it is given, it gives an object schema, and the same one each time. It never reads anything from anywhere: a
// $ref that leads out of the schema becomes a schema that takes all.
//
// What it does:
//
//	top level            an object with properties; anyOf, oneOf, allOf, not, if and the like are merged into it, and the
//	                     true schema goes into Schema.Note, for the tool's description
//	$ref                 replaced by what it refers to, what stands beside it kept; see below for where it ends
//	keywords             those of draft 2020-12, with values that fit them; older ones are translated, others left out
//	true, false          {} and {"not":{}}, except where everybody takes them (additionalProperties)
//	objects, arrays      say what they hold, where Rules want it
//	names of properties  that a provider does not take are left out and told in Schema.Note
//
// What is shown to a model is no check: arguments are held against the schema as it came, by the tool.
//
// Bounds: a $ref inside of what it refers to is followed twice more; references lead at most 16 deep, schemas 48. A
// result has at most 6000 values and 100 KB; where it would have more, references are followed less deep, then
// schemas, until it fits. What is cut takes anything, and Schema.Note says that something was.
package schema
