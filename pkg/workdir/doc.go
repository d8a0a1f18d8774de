// Package workdir packs a folder as the working directory of a Ray job, as Ray's own clients do: it leaves out what .gitignore and
// .rayignore files name, and the name of the archive is a hash of its content. The same files therefore always have the same name, and
// need not be sent twice.
package workdir
