package workdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// maxFiles is the largest number of files of a package.
const maxFiles = 100_000

// entry is a file of a package, or a folder that is empty on disk.
type entry struct {
	// path is relative to the packed folder, with slashes.
	path string
	info fs.FileInfo
}

// lister collects the entries of a folder. It follows symbolic links to files and folders within the packed folder, and refuses those
// that lead out of it.
type lister struct {
	root    *os.Root
	entries []entry
}

// list returns what is packed, in the order of the paths.
func list(root *os.Root) ([]entry, error) {
	l := &lister{root: root}
	info, err := root.Stat(".")
	if err != nil {
		return nil, err
	}
	err = l.folder("", []fs.FileInfo{info}, []rules{parseRules("", always)})
	return l.entries, err
}

// folder adds the entries of a folder. prefix is its path with a trailing slash, or empty. parents are the folder and those above it.
func (l *lister) folder(prefix string, parents []fs.FileInfo, all []rules) error {
	all, err := l.addRules(prefix, all)
	if err != nil {
		return err
	}
	found, err := fs.ReadDir(l.root.FS(), folderName(prefix))
	if err != nil {
		return err
	}
	if len(found) == 0 && prefix != "" {
		l.entries = append(l.entries, entry{prefix, parents[len(parents)-1]})
	}
	for _, f := range found {
		path := prefix + f.Name()
		info, err := l.stat(path, f)
		if err != nil {
			return err
		}
		folder := info != nil && info.IsDir()
		if info == nil || slices.ContainsFunc(all, func(r rules) bool { return r.exclude(path, folder) }) {
			continue
		}
		if err := l.add(path, info, parents, all); err != nil {
			return err
		}
	}
	return nil
}

func (l *lister) add(path string, info fs.FileInfo, parents []fs.FileInfo, all []rules) error {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s: the symbolic link leads out of the folder; remove it, or name it in .rayignore", path)
	case info.IsDir() && slices.ContainsFunc(parents, func(p fs.FileInfo) bool { return os.SameFile(p, info) }):
		return fmt.Errorf("%s: the symbolic link leads to a folder that contains it; remove it, or name it in .rayignore", path)
	case info.IsDir():
		return l.folder(path+"/", append(slices.Clip(parents), info), all)
	case len(l.entries) >= maxFiles:
		return fmt.Errorf("the folder has more than %d files; name those that the job does not need in .rayignore", maxFiles)
	case info.Mode().IsRegular():
		l.entries = append(l.entries, entry{path, info})
	}
	return nil // a socket or a device is left out, as Ray does
}

// stat returns the target of a symbolic link, or the link itself if the target is out of the folder; nil if there is no target.
func (l *lister) stat(path string, f fs.DirEntry) (fs.FileInfo, error) {
	info, err := l.root.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil && f.Type()&fs.ModeSymlink != 0:
		return f.Info()
	}
	return info, err
}

// addRules returns the rules with those of the ignore files in a folder.
func (l *lister) addRules(prefix string, all []rules) ([]rules, error) {
	all = slices.Clip(all)
	for _, name := range ignoreFiles {
		text, err := l.root.ReadFile(prefix + name)
		switch {
		case err == nil:
			all = append(all, parseRules(prefix, string(text)))
		case !errors.Is(err, fs.ErrNotExist): // to ignore it could send what must not be sent
			return nil, err
		}
	}
	return all, nil
}

// folderName is the name for fs.FS.
func folderName(prefix string) string {
	if prefix == "" {
		return "."
	}
	return prefix[:len(prefix)-1]
}
