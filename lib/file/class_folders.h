/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders of files, one folder for each class: what the formats image_folder and text_folder share.
 *
 * Classes are numbered in the order in which the job lists them, else in that of the names of the
 * training folder's subfolders, sorted by bytes. Examples are in the order of class and file. With
 * `validation_split` classes are spread evenly, because otherwise the last examples, which
 * are then used for validation, would all be from the last classes.
 */
#ifndef DT_FILE_CLASS_FOLDERS_H
#define DT_FILE_CLASS_FOLDERS_H

#include "file/examples.h"

/* An open part: base.paths are the files, of one example each. */
typedef struct dt_class_folders {
    dt_examples base;
    int label;      /* index of the element of the class or, with masks, of the mask */
    int32_t *class; /* [n] the number of each file's class; NULL: there are masks instead */
    int n, cap;
    size_t root; /* number of bytes of the folder with which each path begins */
} dt_class_folders;

/* What a format looks for in the folders. */
typedef struct dt_class_query {
    const char *files; /* what messages call the files, such as "pictures" */
    /* The number of classes that the job states. If the job does not list their names, another
     * number of training folders is an error. */
    int64_t classes;
    /* The names of the classes in their order, if the job lists them; other folders are skipped. n
     * 0: each folder of the training data is a class. */
    dt_texts names;
    /* adds the files of a class, which are in `folder`, to x->base.paths, in order */
    dt_status *(*list)(dt_class_folders *x, const char *folder);
} dt_class_query;

/* Checks that the part names a folder, without accessing it, and lists the names of the elements.
 * element: the data set's key of this name; if it is NULL or not a mapping, `names` stays empty,
 * and the error is reported elsewhere. */
dt_status *dt_class_folders_check(const dt_format_request *r, const char *files,
                                  const dt_tree *element, dt_texts *names) DT_MUST_USE;
/* Finds the files of a part and their classes, and sets the label's class names and base.count.
 * x->base.stored and x->label are set before. */
dt_status *dt_class_folders_find(const dt_format_request *r, const dt_class_query *q,
                                 dt_class_folders *x) DT_MUST_USE;
/* Orders files so that those of each class are spread evenly over the list. So the last files,
 * which may be used for validation, are not all of the last classes. classes: the number of
 * classes. */
void dt_class_folders_spread(dt_class_folders *x, int64_t classes);
/* Reads element e of the first example, so that a fault in it is reported before training. */
dt_status *dt_class_folders_try(dt_class_folders *x, int e) DT_MUST_USE;

/* Implementations of operations of dt_example_reader. */
const char *dt_class_folders_source(const dt_examples *base, int64_t i, const char **what);
dt_status *dt_class_folders_whole(dt_examples *base, int e, const void **rows) DT_MUST_USE;
void dt_class_folders_close(dt_examples *base);

/* text_folder.c: adds the .txt files in a folder and in all folders below it. */
dt_status *dt_text_files_list(const char *folder, dt_paths *out) DT_MUST_USE;
/* Reads a text file, without its byte order mark. Fails if it has more than 1 MiB or is not
 * UTF-8. */
dt_status *dt_text_files_read(const char *path, dt_str *out) DT_MUST_USE;
/* Whether a path is a folder, the name of a text file (.txt), or a pattern with wildcards. */
bool dt_text_folder_takes(const char *path);

#endif
