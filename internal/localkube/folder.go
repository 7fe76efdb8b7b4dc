/*
Copyright 2026 The pod-operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package localkube

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// ErrDirInUse says that a running cluster has the folder.
var ErrDirInUse = errors.New("a running cluster uses this folder")

const lockFile = "lock"

// openDir makes the cluster's folder and locks it.
func (c *Cluster) openDir() error {
	if c.opts.Dir == "" {
		if err := c.openTemporaryDir(); err != nil {
			return err
		}
	} else if err := c.lockDir(c.opts.Dir); err != nil {
		return err
	}
	dir, err := filepath.Abs(c.opts.Dir)
	if err != nil {
		return err
	}
	c.opts.Dir = dir
	if err := c.putOldLogsAside(); err != nil {
		return err
	}
	for _, sub := range []string{c.logDir(), c.pkiDir()} {
		if err := os.MkdirAll(sub, 0o700); err != nil {
			return err
		}
	}
	return nil
}

// putOldLogsAside keeps the logs of the run before this one, and no more.
func (c *Cluster) putOldLogsAside() error {
	old := c.logDir() + ".old"
	if err := os.RemoveAll(old); err != nil {
		return err
	}
	if err := os.Rename(c.logDir(), old); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (c *Cluster) lockDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("cluster folder: %w", err)
	}
	lock, err := tryLock(dir)
	if err != nil {
		return err
	}
	c.lock = lock
	return nil
}

// openTemporaryDir takes a fresh folder, and removes those that clusters left
// behind whose owner was killed.
func (c *Cluster) openTemporaryDir() error {
	base := filepath.Join(filepath.Dir(filepath.Clean(c.opts.BinDir)), ".playground", "run")
	if err := os.MkdirAll(base, 0o700); err != nil {
		return fmt.Errorf("cluster folder: %w", err)
	}
	sweep(base)
	dir, err := os.MkdirTemp(base, "cluster-")
	if err != nil {
		return fmt.Errorf("cluster folder: %w", err)
	}
	if err := c.lockDir(dir); err != nil {
		return err
	}
	c.opts.Dir, c.temporary = dir, true
	return nil
}

// closeDir gives the folder back.
func (c *Cluster) closeDir() error {
	var err error
	if c.temporary {
		err = os.RemoveAll(c.opts.Dir)
	}
	return errors.Join(err, c.lock.Close())
}

// tryLock locks the folder. The kernel gives the lock back when we are gone,
// however we went, so that a lock file that lies around means nothing.
func tryLock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cluster folder: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s", ErrDirInUse, dir), f.Close())
	}
	return f, nil
}

// DirInUse reports whether a running cluster has the folder.
func DirInUse(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, lockFile)); err != nil {
		return false
	}
	f, err := tryLock(dir)
	if err != nil {
		return true
	}
	return f.Close() != nil
}

// sweepAge keeps sweep away from a folder whose owner is about to lock it.
const sweepAge = time.Minute

// sweep removes the folders of dead clusters.
func sweep(base string) {
	entries, err := os.ReadDir(base)
	if err != nil {
		return
	}
	for _, entry := range entries {
		dir := filepath.Join(base, entry.Name())
		info, err := entry.Info()
		if err != nil || !strings.HasPrefix(entry.Name(), "cluster-") || time.Since(info.ModTime()) < sweepAge {
			continue
		}
		if !DirInUse(dir) {
			_ = os.RemoveAll(dir) // the next sweep tries again
		}
	}
}
