// Package skills holds what a model can be taught in files: skills and AGENTS.md.
//
// A skill is a folder with a SKILL.md: front matter with a name and a description, then the text. The prompt has only
// the [Set]'s index, a line for each skill; the text comes when the model calls the skill tool. Skills come from
// several sources, and of two with one name the later wins:
//
//	shipped with the program  <  the configuration folder  <  the project's .agents/skills
//
// A broken skill is a [Problem], never a reason not to start. Folders of a project are read beneath the project, so
// that a link cannot bring other files into a prompt.
//
// The package must not import anything of cartagent but loop, and runs nothing: scripts of skills are only text here.
package skills
