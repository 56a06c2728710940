typedef int placeholder_h5;
